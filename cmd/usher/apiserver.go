package main

import (
	kubeversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/config"
)

// newServer returns a validator for an API server version, nil for the newest,
// with the feature gates of the configuration.
func newServer(version *kubeversion.Version, c *config.Configuration) (*apiserver.Validator, error) {
	return apiserver.New(apiserver.Options{Server: version, Features: c.Policies.FeatureGates})
}
