package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/deploy/base/crds"
)

// A mapping is the server's resource for a kind.
type mapping struct {
	resource    string
	namespaced  bool
	persisted   bool
	dynamicKind schema.GroupVersionResource
}

// allMappings waits until the server has discovered usher's own kinds.
func allMappings(config *rest.Config) (found map[schema.GroupVersionKind]mapping, err error) {
	err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		if found, err = mappings(config); err != nil {
			return false, err
		}
		own := map[string]bool{}
		for kind := range found {
			own[kind.Group] = true
		}
		return !slices.ContainsFunc(crds.Groups(), func(group string) bool { return !own[group] }), nil
	})
	return found, err
}

// mappings asks the server for the kinds that it serves.
func mappings(config *rest.Config) (map[schema.GroupVersionKind]mapping, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupVersionKind]mapping{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			verbs := map[string]bool{}
			for _, v := range r.Verbs {
				verbs[v] = true
			}
			if strings.Contains(r.Name, "/") || !verbs["create"] { // a subresource
				continue
			}
			if at := version.WithKind(r.Kind); found[at].resource == "" {
				found[at] = mapping{r.Name, r.Namespaced, verbs["list"], version.WithResource(r.Name)}
			}
		}
	}
	return found, nil
}

func TestEveryKindThatTheServerStoresIsJudged(t *testing.T) {
	for kind, m := range server.kinds {
		version, name := kind.ToAPIVersionAndKind()
		if m.persisted && !validator.Serves(version, name) {
			t.Errorf("%s is stored by the server, and not judged", kind)
		}
	}
	for _, kind := range validator.ServedKinds() {
		if !server.kinds[kind].persisted {
			t.Errorf("%s is judged, and not stored by the server", kind)
		}
	}
}
