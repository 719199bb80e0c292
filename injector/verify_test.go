package injector

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
)

// TestHoldUpdate_GoesByContent changes the sidecar of a pod whose record is absent,
// wrong or not readable, as users of pods/status and pods/binding can leave it.
func TestHoldUpdate_GoesByContent(t *testing.T) {
	record := func(text string) func(pod, side map[string]any) {
		return func(p, _ map[string]any) { at(p, "metadata", "annotations")[wellknown.AnnotationInjected] = text }
	}
	left := map[string]func(pod, side map[string]any){
		"a true record": func(_, _ map[string]any) {},
		"no record":     func(p, _ map[string]any) { delete(at(p, "metadata", "annotations"), wellknown.AnnotationInjected) },
		"no annotations": func(p, _ map[string]any) {
			delete(at(p, "metadata"), "annotations")
		},
		"an empty record":              record("{}"),
		"a record that is not JSON":    record("none"),
		"a record of another template": record(`{"other":{"version":"x","containers":["app"]}}`),
		"a record of other containers": record(`{"side":{"version":"x","containers":["app"]}}`),
		"a record of no containers":    record(`{"side":{"version":"x"}}`),
	}
	templates := map[string]*Set{
		"as it was":        set(mustParse(t, "side", guarding, "mandatory: true")),
		"edited":           set(mustParse(t, "side", strings.NewReplacer("side:1", "side:2", "--config", "--file", "15001", "15002").Replace(guarding), "mandatory: true")),
		"of another image": set(mustParse(t, "side", strings.Replace(guarding, "registry.example.com/side:1", "other:1", 1), "mandatory: true")),
	}
	updates := map[string]struct {
		edit   func(pod, side map[string]any)
		denied bool
	}{
		"the image":            {func(_, s map[string]any) { s["image"] = "registry.example.com/evil:1" }, true},
		"the tag":              {func(_, s map[string]any) { s["image"] = "registry.example.com/side:0" }, true},
		"the resources":        {func(_, s map[string]any) { at(s, "resources", "limits")["cpu"] = "1m" }, true},
		"the template's label": {func(p, _ map[string]any) { at(p, "metadata", "labels")["sidecar"] = "none" }, true},
		"another label":        {func(p, _ map[string]any) { at(p, "metadata", "labels")["mine"] = "x" }, false},
	}
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: templates["as it was"]}
	once := string(apply(t, r, Decide(r)))
	for how, leave := range left {
		old := edited(t, once, leave)
		for edit, templates := range templates {
			for what, update := range updates {
				r := Request{Object: edited(t, string(old), update.edit), Templates: templates}
				d := VerifyUpdate(r, old)
				if d.Denied != update.denied || d.Denied && d.Reason != reason.MandatoryChanged {
					t.Errorf("with %s, the template %s: an update of %s: denied %v (%s), want %v", how, edit, what, d.Denied, d.Message(), update.denied)
				}
			}
		}
	}
}

// TestHoldUpdate_ThePodsOwnContainers leaves containers alone that have nothing but
// their name in common with the template's.
func TestHoldUpdate_ThePodsOwnContainers(t *testing.T) {
	r := Request{Templates: set(mustParse(t, "side", guarding, "mandatory: true"))}
	old := fromYAML(t, asking("", "containers: [{name: app, image: 'app:1'}, {name: side, image: 'mine:1', args: [serve]}]"))
	r.Object = edited(t, string(old), func(_, s map[string]any) { s["image"] = "mine:2" })
	if d := VerifyUpdate(r, old); d.Denied || d.Reason != reason.NotAsked {
		t.Errorf("%s (%s)", d.Reason, d.Message())
	}
}
