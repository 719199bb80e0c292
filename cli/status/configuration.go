package status

import (
	"context"
	"fmt"

	"github.com/usher-dev/usher/config"
)

const configurationSection = "configuration"

// configuration checks the ConfigMap usher.
func (c *Cluster) configuration(context.Context) []Check {
	check := Check{Section: configurationSection, Name: "ConfigMap " + config.ConfigMapName, State: OK, Message: "valid"}
	if c.Configured == nil {
		check.State, check.Message = Unknown, "you may not list configmaps in namespace "+c.Own
		check.Remedy = "ask an administrator for the right, or select another user with --context or --as"
		return []Check{check}
	}
	if c.Configured.Default() {
		check.Message = "it does not exist, so the defaults are in force"
	}
	if err := c.Configured.Invalid(); err != nil {
		inForce := "the last valid configuration is in force"
		if c.Configured.Ready() != nil {
			inForce = "no valid one is known, so a replica that starts does not become ready"
		}
		check.State, check.Message = Failed, fmt.Sprintf("invalid, and %s: %v", inForce, err)
		check.Remedy = fmt.Sprintf("kubectl -n %s edit configmap %s", c.Own, config.ConfigMapName)
	}
	return []Check{check}
}

// levels are the defaults of namespaces without labels.
func (c *Cluster) levels() config.Policies {
	if c.Configured == nil {
		return config.Default().Policies
	}
	return c.Configured.Current().Policies
}
