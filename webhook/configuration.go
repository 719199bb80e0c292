package webhook

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/release"
)

// The ConfigMap of usher's own configuration.
const (
	ConfigurationConfigMap = config.ConfigMapName
	ConfigurationKey       = config.ConfigMapKey
)

// A Configuration is usher's configuration as it is now. One that cannot be
// used leaves the last good one in force.
type Configuration struct {
	// Changed is called when another configuration is in force; it must not
	// block.
	Changed func()

	log     logr.Logger
	current atomic.Pointer[configured]
}

// configured is a configuration with its rule sets, one for each version that
// namespaces pin.
type configured struct {
	*config.Configuration
	mu   sync.Mutex
	pins map[release.Version]*policies.Evaluator
}

// maxPins bounds the rule sets that are kept: namespaces may pin any version.
const maxPins = 32

// NewConfiguration returns the defaults.
func NewConfiguration(log logr.Logger) *Configuration {
	c := &Configuration{log: log}
	c.current.Store(&configured{Configuration: config.Default(), pins: map[release.Version]*policies.Evaluator{}})
	return c
}

// Put takes the ConfigMap in, as it was created or changed.
func (c *Configuration) Put(cm *corev1.ConfigMap) {
	parsed, err := config.Parse([]byte(cm.Data[ConfigurationKey]))
	if err != nil {
		c.log.Error(err, "configuration refused, the last good one stays in force", "configMap", cm.Name, "key", ConfigurationKey)
		return
	}
	c.store(parsed)
	c.log.Info("configuration loaded", "configMap", cm.Name)
}

// Delete goes back to the defaults.
func (c *Configuration) Delete() {
	c.store(config.Default())
	c.log.Info("configuration removed, the defaults are in force")
}

func (c *Configuration) store(parsed *config.Configuration) {
	c.current.Store(&configured{Configuration: parsed, pins: map[release.Version]*policies.Evaluator{}})
	if c.Changed != nil {
		c.Changed()
	}
}

// evaluator returns the rule set of a pin.
func (c *configured) evaluator(pin release.Version) (*policies.Evaluator, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.pins[pin]; e != nil {
		return e, nil
	}
	options := c.Options()
	options.Pin = pin
	e, err := policies.New(options)
	if err != nil {
		return nil, fmt.Errorf("choosing the rules: %w", err)
	}
	if len(c.pins) < maxPins {
		c.pins[pin] = e
	}
	return e, nil
}
