package verdict_test

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/verdict"
)

// TestAListOfTolerancesIsWarnedOf applies templates that tolerate changes without
// and with limits.
func TestAListOfTolerancesIsWarnedOf(t *testing.T) {
	for tolerate, want := range map[string]string{
		"[image]":                              "template side: options.tolerate lists image, so that the author of a pod can take the image from any registry; write image: {registries: [registry.example.com/team]}",
		"[env]":                                "add any variable, such as LD_PRELOAD; write env: {names: [AWS_*]}",
		"[resources, volumeMounts]":            "mount over any path, such as /bin; write volumeMounts: {paths:",
		"[resources]":                          "",
		"{image: {registries: [a.io]}}":        "",
		"{resources: {}, securityContext: {}}": "",
	} {
		f := facts(t, "")
		f.Scope.ReleaseNamespace = "usher-system"
		o := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer, namespace: usher-system}, data: {
  options: "{mandatory: true, tolerate: `+tolerate+`}", config: "containers: [{name: side, image: 'a.io/side:1'}]"}}`)
		v, err := verdict.Judge(t.Context(), o, nil, f)
		if err != nil || v.Denied {
			t.Fatalf("%s: denied %v, %v", tolerate, v.Denied, err)
		}
		var said []string
		for _, finding := range v.Effects(verdict.Warns) {
			if strings.Contains(finding.Message, "options.tolerate") {
				said = append(said, finding.Message)
			}
		}
		if got := strings.Join(said, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", tolerate, got, want)
		}
	}
}
