package status

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/policies"
)

const (
	serverSection   = "API server"
	rightsSection   = "rights"
	existingSection = "what is there"
)

// A Before is a cluster in which usher is to be installed.
type Before struct {
	Clients kubernetes.Interface
	// Own is the namespace of the installation.
	Own string
	// Objects are what is installed.
	Objects []Object
}

// Check runs the checks before an installation.
func (b *Before) Check(ctx context.Context) (*Report, error) {
	r := &Report{}
	for _, section := range []func(context.Context) []Check{b.server, b.plugins, b.rights, b.existing} {
		r.Checks = append(r.Checks, section(ctx)...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// server checks the API server's version.
func (b *Before) server(context.Context) []Check {
	info, err := b.Clients.Discovery().ServerVersion()
	if err != nil {
		return []Check{unread(serverSection, "version", "get /version", err)}
	}
	return []Check{serverVersion(info.GitVersion)}
}

// serverVersion compares a version with those that usher supports.
func serverVersion(text string) Check {
	check := Check{Section: serverSection, Name: "version", State: OK, Message: "Kubernetes " + text}
	v, err := version.ParseGeneric(text)
	switch {
	case err != nil:
		check.State, check.Message = Unknown, fmt.Sprintf("the API server says that its version is %q: %v", text, err)
	case v.Major() < 1 || v.Major() == 1 && v.Minor() < policies.OldestServer:
		check.State, check.Message = Failed, fmt.Sprintf("Kubernetes %s is older than 1.%d, the oldest that usher supports", text, policies.OldestServer)
		check.Remedy = fmt.Sprintf("upgrade the cluster to Kubernetes 1.%d or later", policies.OldestServer)
	case policies.Newer(v):
		check.State, check.Message = Warning, fmt.Sprintf(
			"Kubernetes %s is newer than 1.%d, the newest that usher is tested with: rules about what Kubernetes does warn instead of denying", text, policies.NewestServer)
		check.Remedy = "look for a newer version of usher"
	}
	return check
}

// webhookPlugins are the admission plugins that call webhooks.
var webhookPlugins = []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}

// plugins checks the API server's admission plugins, which its metrics name.
func (b *Before) plugins(ctx context.Context) []Check {
	metrics, err := b.Clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return []Check{unread(serverSection, "admission plugins", "get /metrics of the API server", err)}
	}
	return []Check{pluginsIn(string(metrics))}
}

// pluginsIn checks that the plugins that call webhooks are among those in the API
// server's metrics.
func pluginsIn(metrics string) Check {
	const metric = "apiserver_admission_controller_admission_duration_seconds_count{"
	check := Check{Section: serverSection, Name: "admission plugins", State: OK, Message: strings.Join(webhookPlugins, " and ") + " are enabled"}
	known := map[string]bool{}
	for line := range strings.Lines(metrics) {
		labels, of := strings.CutPrefix(line, metric)
		_, name, named := strings.Cut(labels, `name="`)
		if name, _, closed := strings.Cut(name, `"`); of && named && closed {
			known[name] = true
		}
	}
	if len(known) == 0 {
		check.State, check.Message = Unknown, "the API server's metrics do not name them"
		return check
	}
	var missing []string
	for _, name := range webhookPlugins {
		if !known[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		check.State, check.Message = Failed, fmt.Sprintf("the API server does not run %s, so it calls no such webhook", strings.Join(missing, " and "))
		check.Remedy = "remove them from --disable-admission-plugins of kube-apiserver"
	}
	return check
}
