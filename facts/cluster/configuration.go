package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

// A Configuration is usher's current configuration: that of the ConfigMap
// usher, or the last valid one while that is invalid, or the defaults if it
// does not exist.
type Configuration struct {
	// Changed is called when the configuration in force may have changed; it must
	// not block.
	Changed func()

	metrics *Metrics
	log     logr.Logger
	current atomic.Pointer[Configured]

	mu sync.Mutex
	// applied is the ConfigMap usher, lastValid the one that usher writes.
	applied, lastValid *document
	// inForce is the text of the configuration in force; "" for the defaults.
	inForce string
	// usable is true if the configuration in force is valid, or the defaults
	// apply. It becomes false only before begun: an invalid configuration never
	// stops a serving replica.
	usable, begun bool
}

// A document is a configuration from a ConfigMap.
type document struct {
	text       string
	configured *Configured // nil if err is not nil
	err        error
}

// A Configured is a configuration with the rules that it selects.
type Configured struct {
	*config.Configuration
	Evaluator *policies.Evaluator
}

// configured chooses the rules of a configuration.
func configured(c *config.Configuration) (*Configured, error) {
	evaluator, err := rules.New(c.Options())
	if err != nil {
		return nil, fmt.Errorf("choosing the rules: %w", err)
	}
	return &Configured{c, evaluator}, nil
}

// defaults is the configuration of a cluster without the ConfigMap usher.
var defaults = sync.OnceValue(func() *Configured {
	c, err := configured(config.Default())
	if err != nil {
		panic(err) // the default selects every rule
	}
	return c
})

// parse reads the configuration in a ConfigMap.
func parse(cm *corev1.ConfigMap) *document {
	text, ok := cm.Data[config.ConfigMapKey]
	if !ok {
		return &document{err: fmt.Errorf("the ConfigMap %s has no key %s", cm.Name, config.ConfigMapKey)}
	}
	d := &document{text: text}
	parsed, err := config.Parse([]byte(text))
	if err == nil {
		d.configured, err = configured(parsed)
	}
	d.err = err
	return d
}

// NewConfiguration returns a Configuration with the defaults.
func NewConfiguration(metrics *Metrics, log logr.Logger) *Configuration {
	c := &Configuration{metrics: metrics, log: log, usable: true}
	c.store("", defaults())
	metrics.configuration.Set(1)
	return c
}

// Current returns the configuration in force.
func (c *Configuration) Current() *Configured { return c.current.Load() }

// Put stores the ConfigMap usher or usher-last-valid after it was created or
// changed.
func (c *Configuration) Put(cm *corev1.ConfigMap) {
	d := parse(cm)
	if d.err == nil && cm.Name == config.ConfigMapName {
		for _, note := range d.configured.ExemptionNotes(time.Now()) {
			c.log.Info("configuration: " + note)
		}
	}
	c.mu.Lock()
	if cm.Name == config.LastValidName {
		c.lastValid = d
	} else {
		c.applied = d
	}
	c.choose()
	c.mu.Unlock()
	c.tell()
}

// Delete removes one of the ConfigMaps.
func (c *Configuration) Delete(name string) {
	c.mu.Lock()
	if name == config.LastValidName {
		c.lastValid = nil
	} else {
		c.applied = nil
	}
	c.choose()
	c.mu.Unlock()
	c.tell()
}

// choose puts into force what the ConfigMaps ask for. The caller must hold the
// lock.
func (c *Configuration) choose() {
	switch {
	case c.applied == nil:
		if c.inForce != "" {
			c.log.Info("configuration removed, the defaults are in force")
		}
		c.usable = true
		c.store("", defaults())
	case c.applied.err == nil:
		c.usable = true
		c.store(c.applied.text, c.applied.configured)
	case c.inForce == "" && c.lastValid != nil && c.lastValid.err == nil:
		c.usable = true
		c.store(c.lastValid.text, c.lastValid.configured)
		c.log.Error(c.applied.err, "configuration refused, the last valid one is in force", "configMap", config.ConfigMapName)
	case c.inForce == "" && !c.begun:
		c.usable = false
		c.log.Error(c.applied.err, "configuration refused, and no valid one is known", "configMap", config.ConfigMapName)
	default:
		c.log.Error(c.applied.err, "configuration refused, the last valid one stays in force", "configMap", config.ConfigMapName)
	}
	valid := 1.0
	if c.applied != nil && c.applied.err != nil {
		valid = 0
	}
	c.metrics.configuration.Set(valid)
}

// store puts a configuration into force. The caller must hold the lock.
func (c *Configuration) store(text string, configured *Configured) {
	if now := c.current.Load(); now != nil && text == c.inForce {
		return
	}
	c.inForce = text
	c.current.Store(configured)
}

func (c *Configuration) tell() {
	if c.Changed != nil {
		c.Changed()
	}
}

// Ready returns the reason why no configuration is usable: the first one is
// invalid.
func (c *Configuration) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usable {
		return nil
	}
	return fmt.Errorf("the configuration is invalid and no valid one is known: %w", c.applied.err)
}

// Invalid returns what is wrong with the ConfigMap usher; nil if it is valid, or
// does not exist.
func (c *Configuration) Invalid() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.applied == nil {
		return nil
	}
	return c.applied.err
}

// Default reports whether the ConfigMap usher does not exist, so that the defaults
// are in force.
func (c *Configuration) Default() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied == nil
}

// begin records that the configuration serves from now on.
func (c *Configuration) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
}

// State describes the configuration in one line, for /readyz?verbose.
func (c *Configuration) State() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.applied == nil:
		return "[+]configuration ok: the defaults"
	case c.applied.err == nil:
		return "[+]configuration ok"
	case c.usable:
		return "[!]configuration refused, the last valid one is in force: " + oneLine(c.applied.err)
	}
	return "[!]configuration refused: " + oneLine(c.applied.err)
}

// Kept returns the desired content of usher-last-valid, and whether it already
// has it: the text of the configuration in force, or "" if the ConfigMap usher
// does not exist.
func (c *Configuration) Kept() (text string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.begun:
		return "", true // not every ConfigMap may have been seen
	case c.applied == nil:
		return "", c.lastValid == nil
	}
	if c.applied.err != nil {
		return "", true // what is kept stays
	}
	return c.applied.text, c.lastValid != nil && c.lastValid.text == c.applied.text
}
