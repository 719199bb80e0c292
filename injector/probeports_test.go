package injector

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/finding/reason"
)

func TestProbePorts(t *testing.T) {
	takeover := mustParse(t, "takeover", `
initContainers: [{name: redirect, image: r, args: ["--exclude=15000,$(USHER_PROBE_PORTS)"], env: [{name: USHER_PROBE_PORTS}, {name: OTHER}]}]
containers: [{name: proxy, image: p, startupProbe: {httpGet: {port: 15021}}}]`, "native: always")
	other := mustParse(t, "other", "containers: [{name: other, image: o, livenessProbe: {tcpSocket: {port: 7000}}}]", "")
	const own = `restartPolicy: Always, initContainers: [{name: setup, startupProbe: {exec: {}}}], containers: [
		{name: a, ports: [{name: http, containerPort: 8080}], readinessProbe: {httpGet: {port: http}}, livenessProbe: {httpGet: {port: 8080}}, startupProbe: {tcpSocket: {port: "9"}}},
		{name: b, livenessProbe: {grpc: {port: 9090}}, readinessProbe: {httpGet: {port: 81, host: example.com}}, lifecycle: {preStop: {httpGet: {port: 8443}}}}]`
	for name, tc := range map[string]struct{ notes, spec, want string }{
		"of the pod's own and of the templates": {`"inject.usher.dev/takeover": "true", "inject.usher.dev/other": "true"`, own, "7000,8080,8443,9090,15021"},
		"without another template":              {`"inject.usher.dev/takeover": "true"`, own, "8080,8443,9090,15021"},
		"none of the pod's":                     {`"inject.usher.dev/takeover": "true"`, "", "15021"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(tc.notes, tc.spec)), Templates: set(takeover, other), NativeSidecars: true}
			d := Decide(r)
			if d.Reason != reason.Injected {
				t.Fatalf("%s: %s", d.Reason, d.Message())
			}
			after := apply(t, r, d)
			if want := `{"name":"USHER_PROBE_PORTS","value":"` + tc.want + `"}`; !strings.Contains(string(after), want) {
				t.Errorf("lacks %s:\n%s", want, after)
			}
			if r.Object = after; Decide(r).Reason != reason.AlreadyInjected {
				t.Errorf("a second pass says %s: %s", Decide(r).Reason, Decide(r).Message())
			}
		})
	}
	if strings.Contains(string(takeover.InitContainers[0].Raw), "15021") {
		t.Error("the template was changed")
	}
}
