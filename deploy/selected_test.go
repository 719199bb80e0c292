package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/controllers"
)

// TestAControllersRightsAreInstalledOnlyWithIt selects each controller in the
// chart, which the schema must know.
func TestAControllersRightsAreInstalledOnlyWithIt(t *testing.T) {
	for _, name := range controllers.Names() {
		t.Run(name, func(t *testing.T) {
			manifests := rendered(t, "controller: {controllers: ["+name+"]}")
			installed := map[string]bool{}
			for _, role := range roles(t, manifests, func(role string) bool { return strings.HasPrefix(role, "usher-controller") }) {
				installed[role.Name] = true
			}
			want := []string{"usher-controller", "usher-controller-" + name}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(installed))); diff != "" {
				t.Errorf("roles (-want +got):\n%s", diff)
			}
			if args := podOf(t, manifests, "usher-controller").Containers[0].Args; !slices.Contains(args, "--controllers="+name) {
				t.Errorf("the arguments %q do not select it", args)
			}
		})
	}
}
