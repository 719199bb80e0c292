package injector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// TestRepeatsDoNotMakeTheAnswerLong limits the cost of a pod that repeats a
// conflict without end: the answer goes into the log and back to the sender.
func TestRepeatsDoNotMakeTheAnswerLong(t *testing.T) {
	const many = 10_000
	port := strings.Repeat(`{"containerPort":80,"hostPort":80},`, many) + "{}"
	tests := map[string]string{
		"containers": `"containers":[` + strings.Repeat(`{"name":"side"},`, many) + `{"name":"app"}]`,
		"volumes":    `"volumes":[` + strings.Repeat(`{"name":"v"},`, many) + `{}],"containers":[{"name":"app"}]`,
		"ports":      `"containers":[{"name":"app","ports":[` + port + `]}]`,
	}
	templates := set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 80, hostPort: 80}]}]\nvolumes: [{name: v, configMap: {name: c}}]", ""))
	for name, spec := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(Request{Object: []byte(`{"metadata":{"annotations":{"inject.usher.dev/side":"true"}},"spec":{` + spec + `}}`), Templates: templates})
			if !d.Denied || len(d.Problems) > 2 || len(d.Warnings) > 1 {
				t.Errorf("denied %v with %d problems and %d warnings", d.Denied, len(d.Problems), len(d.Warnings))
			}
		})
	}
}

// TestARecordThatNamesWithoutEnd checks that a container is compared only once,
// however often a record names it.
func TestARecordThatNamesWithoutEnd(t *testing.T) {
	names := strings.Repeat(`\"side\",`, 10_000) + `\"app\"`
	pod := func(image string) []byte {
		return []byte(`{"metadata":{"annotations":{"inject.usher.dev/side":"true","usher.dev/injected":"{\"side\":{\"version\":\"\",\"containers\":[` + names + `]}}"}},` +
			`"spec":{"containers":[{"name":"app","image":"app"},{"name":"side","image":"` + image + `"}]}}`)
	}
	r := Request{Object: pod("other"), Templates: set(mustParse(t, "side", small, "mandatory: true"))}
	if d := VerifyUpdate(r, pod("side:1")); !d.Denied || len(d.Problems) != 1 {
		t.Errorf("denied %v with %d problems", d.Denied, len(d.Problems))
	}
	if d := Decide(r); !d.Denied || len(d.Problems) != 1 {
		t.Errorf("denied %v with %d problems", d.Denied, len(d.Problems))
	}
}

// TestHostileTemplatesAreRefusedShortly limits the messages about a template,
// which go into logs and to everyone who asks for it.
func TestHostileTemplatesAreRefusedShortly(t *testing.T) {
	tests := map[string]string{
		"one host port again and again": "containers: [{name: a, image: i, ports: [" + strings.Repeat("{hostPort: 1},", 50_000) + "]}]",
		"many bad names":                "containers: [" + strings.Repeat("{image: i},", 50_000) + "]",
		"many unknown fields":           "containers: [" + strings.Repeat("{imagee: i},", 50_000) + "]",
	}
	for name, config := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := template.Parse("side", map[string]string{template.ConfigKey: config})
			if err == nil || len(err.Error()) > 4096 || !strings.HasSuffix(err.Error(), ": correct these first") {
				t.Errorf("got an error of %d bytes: %.200s", len(fmt.Sprint(err)), fmt.Sprint(err))
			}
		})
	}
}

func TestTooManyKeysAreNotCarried(t *testing.T) {
	_, problem := PropagateOptIn("Deployment", fromYAML(t, "{metadata: {annotations: {"+manyKeys(maxKeys+1)+"}}, spec: {template: {spec: {}}}}"), nil)
	if problem == nil || problem.Reason != reason.BadValue || !strings.Contains(problem.String(), "write at most 256") {
		t.Errorf("got %v", problem)
	}
}

func TestHostPortsClashByAddress(t *testing.T) {
	tests := map[string]struct {
		a, b  string
		clash bool
	}{
		"every address twice":             {"", "0.0.0.0", true},
		"every address after one":         {"10.0.0.1", "", true},
		"one address after every address": {"::", "10.0.0.1", true},
		"one address twice":               {"10.0.0.1", "10.0.0.1", true},
		"two addresses":                   {"10.0.0.1", "10.0.0.2", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := template.Parse("side", map[string]string{template.ConfigKey: fmt.Sprintf(
				"containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: 5, hostIP: %q}, {containerPort: 2, hostPort: 5, hostIP: %q}]}]", tc.a, tc.b)})
			if (err != nil) != tc.clash {
				t.Errorf("got %v", err)
			}
		})
	}
}
