package injector

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
)

// TestEditedCopies decides about copies without a record whose author changed
// what the template does not identify a container by.
func TestEditedCopies(t *testing.T) {
	const plain = "containers: [{name: side, image: 'team/side:1', env: [{name: A, value: a}]}]"
	const distinct = "containers: [{name: side, image: 'registry.example.com/team/side:1', args: [run]}]"
	const app = `{containers: [{name: side, image: "side:1", args: [run]}], volumes: [{name: v, emptyDir: {}}],
		appContainers: {env: [{name: A, value: a}, {name: B, value: b}], volumeMounts: [{name: v, mountPath: /v}]}}`
	tests := map[string]struct {
		config, options string
		from, to        string
		want            reason.Reason
		adds            string
	}{
		"another tag, and nothing identifies the container":   {config: plain, from: "side:1", to: "side:2", want: reason.AlreadyPresent},
		"another image, and nothing identifies the container": {config: plain, from: "side:1", to: "mine:1", want: reason.ConflictName},
		"another tag of a container of a mandatory template":  {config: plain, options: "mandatory: true", from: "side:1", to: "side:2", want: reason.MandatoryChanged},
		"a registry that flattens names":                      {config: distinct, from: "registry.example.com/team/side:1", to: "mirror.example.com/team-side:1", want: reason.AlreadyPresent},
		"one that joins the host, too":                        {config: distinct, from: "registry.example.com/team/side:1", to: "mirror.example.com/hub/registry.example.com_team_side@sha256:" + strings.Repeat("a", 64), want: reason.AlreadyPresent},
		"a part of the last component":                        {config: distinct, from: "registry.example.com/team/side:1", to: "mirror.example.com/am-side:1", want: reason.ConflictName},
		"another image that ends alike":                       {config: distinct, from: "registry.example.com/team/side:1", to: "mirror.example.com/my-side:1", want: reason.ConflictName},
		"flattened, and nothing identifies the container":     {config: plain, from: "team/side:1", to: "mirror/team-side:1", want: reason.ConflictName},
		"flattened, with other arguments":                     {config: distinct, from: `"args":["run"],"image":"registry.example.com/team/side:1"`, to: `"args":["mine"],"image":"mirror/team-side:1"`, want: reason.ConflictName},
		"flattened, of a mandatory template":                  {config: distinct, options: "mandatory: true", from: "registry.example.com/team/side:1", to: "mirror.example.com/team-side:1", want: reason.MandatoryChanged},
		"flattened, of one that tolerates the registry":       {config: distinct, options: "{mandatory: true, tolerate: {image: {registries: [mirror.example.com]}}}", from: "registry.example.com/team/side:1", to: "mirror.example.com/team-side:1", want: reason.MandatoryChanged},
		"another variable of the application":                 {config: app, from: `"value":"a"`, to: `"value":"mine"`, want: reason.AlreadyPresent},
		"another mount of the application":                    {config: app, from: `"mountPath":"/v"`, to: `"mountPath":"/v","readOnly":true`, want: reason.AlreadyPresent},
		"a variable less, which is added again":               {config: app, from: `"name":"B"`, to: `"name":"C"`, want: reason.AlreadyPresent, adds: "/spec/containers/0/env/-"},
		"another variable with the sidecar of another":        {config: app, from: `"value":"a"`, to: `"value":"mine"`, options: "-", want: reason.ConflictEnv},
		"another variable of an application that is guarded":  {config: app, options: "mandatory: true", from: `"value":"a"`, to: `"value":"mine"`, want: reason.ConflictEnv},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			removed := tc.options == "-"
			r := Request{Object: fromYAML(t, asking("", "")), NamespaceLabels: map[string]string{wellknown.LabelTemplates: "side"}, Templates: set(mustParse(t, "side", tc.config, strings.Trim(tc.options, "-")))}
			copied := copied(t, r)
			r.Object = []byte(strings.Replace(copied, tc.from, tc.to, 1))
			if removed {
				r.Object = withoutContainer(t, r.Object, "side")
			}
			if string(r.Object) == copied {
				t.Fatalf("nothing was replaced: %s in %s", tc.from, copied)
			}
			d := Decide(r)
			if d.Reason != tc.want {
				t.Fatalf("got %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if d.Denied {
				return
			}
			var adds []string
			for _, op := range d.Patch {
				if strings.HasPrefix(op.Path, "/spec/") {
					adds = append(adds, op.Path)
				}
			}
			if strings.Join(adds, " ") != tc.adds {
				t.Errorf("adds %v, want %s", adds, tc.adds)
			}
			r.Object = apply(t, r, d)
			if again := Decide(r); again.Denied || len(again.Patch) > 0 {
				t.Errorf("a second pass: %s (%s) with %s", again.Reason, again.Message(), again.Patch.JSON())
			}
		})
	}
}
