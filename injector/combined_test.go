package injector

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
)

// guardingApp is a mandatory template with items for the pod's own containers.
const guardingApp = `
containers: [{name: side, image: "side:1", env: [{name: USHER_PROBE_PORTS}]}]
appContainers: {env: [{name: PROXY, value: "on"}]}
`

// TestMandatory_AppContainers covers what a mandatory template adds to the
// pod's own containers.
func TestMandatory_AppContainers(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "containers: [{name: app}, {name: web, readinessProbe: {httpGet: {port: 8080}}}]")), Templates: set(mustParse(t, "side", guardingApp, "mandatory: true"))}
	first := Decide(r)
	once := string(apply(t, r, first))
	if first.Reason != reason.Injected || strings.Count(once, `{"name":"PROXY","value":"on"}`) != 2 || !strings.Contains(once, `"value":"8080"`) {
		t.Fatalf("%s (%s): %s", first.Reason, first.Message(), once)
	}
	for name, tc := range map[string]struct {
		old, new string
		want     reason.Reason // of VerifyMandatory
		decide   reason.Reason
	}{
		"as it was": {want: reason.AlreadyInjected, decide: reason.AlreadyInjected},
		"another container": {
			`"containers":[`, `"containers":[{"name":"more","env":[{"name":"PROXY","value":"on"}],"livenessProbe":{"tcpSocket":{"port":9}}},`, reason.AlreadyInjected, reason.AlreadyInjected,
		},
		"another container without it": {`"containers":[`, `"containers":[{"name":"more"},`, reason.MandatoryChanged, reason.Injected},
		"a variable is changed":        {`"value":"on"`, `"value":"off"`, reason.ConflictEnv, reason.ConflictEnv},
		"a variable is removed":        {`"env":[{"name":"PROXY","value":"on"}]`, `"env":[]`, reason.MandatoryChanged, reason.Injected},
		"a probe is not the port's":    {`"port":8080`, `"port":8081`, reason.MandatoryChanged, reason.MandatoryChanged},
		"the record calls it another template's": {
			`"usher.dev/injected":"{`, `"usher.dev/injected":"{\"gone\":{\"version\":\"\",\"containers\":[\"more\"]},`, reason.AlreadyInjected, reason.AlreadyInjected,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r.Object = []byte(strings.Replace(once, tc.old, tc.new, 1))
			if string(r.Object) == once && tc.old != "" {
				t.Fatalf("nothing of %s", once)
			}
			if d := VerifyMandatory(r); d.Reason != tc.want {
				t.Errorf("VerifyMandatory: %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			d := Decide(r)
			if d.Reason != tc.decide {
				t.Errorf("Decide: %s (%s), want %s", d.Reason, d.Message(), tc.decide)
			}
			if d.Reason == reason.Injected {
				r.Object = apply(t, r, d)
				if d := VerifyMandatory(r); d.Denied {
					t.Errorf("after it was added again: %s", d.Message())
				}
			}
		})
	}
	r.Object = fromYAML(t, asking(asks+`, "usher.dev/injected": '{"gone":{"version":"x","containers":["app"]}}'`, ""))
	if d := Decide(r); strings.Count(string(d.Patch.JSON()), "PROXY") < 1 {
		t.Errorf("a record keeps a container from what is mandatory: %s %s", d.Reason, d.Patch.JSON())
	}
	r.Object = fromYAML(t, asking(asks+`, "inject.usher.dev/side.containers": app`, ""))
	if d := Decide(r); d.Reason != reason.BadValue || !strings.Contains(d.Message(), "is mandatory") {
		t.Errorf("naming containers: %s (%s)", d.Reason, d.Message())
	}
}

// TestMandatory_Revisions holds a pod to the revision that it selects.
func TestMandatory_Revisions(t *testing.T) {
	const mandatory = "mandatory: true"
	was, is := mustParse(t, "side/next", strings.Replace(guarding, "side:1", "side:2", 1), mandatory), mustParse(t, "side/next", strings.Replace(guarding, "side:1", "side:3", 1), mandatory)
	plain := mustParse(t, "side", guarding, mandatory)
	edit := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := Request{Object: fromYAML(t, asking(asks+`, "inject.usher.dev/side.revision": next`, "")), Now: edit.Add(time.Second), Templates: NewSet(map[string]Entry{"side": {Template: plain}, "side/next": {Template: was}})}
	once := apply(t, r, Decide(r))
	r.Object = once
	if d := VerifyMandatory(r); d.Reason != reason.AlreadyInjected || d.Outcomes[0].Version != was.Version {
		t.Errorf("%s (%s)", d.Reason, d.Message())
	}
	r.Templates = NewSet(map[string]Entry{"side": {Template: plain}, "side/next": {Template: is, Replaced: []Replaced{{was, edit}}}})
	if d := VerifyMandatory(r); d.Reason != reason.AlreadyInjected {
		t.Errorf("of a revision that was replaced: %s (%s)", d.Reason, d.Message())
	}
	r.Now = edit.Add(ReplacedFor)
	if d := VerifyMandatory(r); d.Reason != reason.MandatoryChanged {
		t.Errorf("a minute later: %s (%s)", d.Reason, d.Message())
	}
	r.Object = []byte(strings.Replace(string(once), "side:2", "evil:2", 1))
	if d := VerifyUpdate(r, once); d.Reason != reason.MandatoryChanged {
		t.Errorf("an update: %s (%s)", d.Reason, d.Message())
	}
	// Only the revision is mandatory, and the pod has it.
	r.Templates = NewSet(map[string]Entry{"side": {Template: mustParse(t, "side", guarding, "")}, "side/next": {Template: was}})
	if d := VerifyUpdate(r, once); d.Reason != reason.MandatoryChanged {
		t.Errorf("an update of what is mandatory in the revision: %s (%s)", d.Reason, d.Message())
	}
}

// TestMandatory_Matched holds pods that ask for nothing.
func TestMandatory_Matched(t *testing.T) {
	const options = "mandatory: true\nmatch: {podSelector: {matchLabels: {app: web}}}"
	r := Request{Object: fromYAML(t, "{metadata: {labels: {app: web}}, spec: {containers: [{name: app}]}}"), Templates: set(mustParse(t, "side", guarding, options))}
	if d := VerifyMandatory(r); d.Reason != reason.MandatoryChanged {
		t.Errorf("without: %s (%s)", d.Reason, d.Message())
	}
	if d := Decide(r); d.Reason != reason.Injected {
		t.Errorf("%s (%s)", d.Reason, d.Message())
	}
	r.Object = fromYAML(t, `{metadata: {labels: {app: web}, annotations: {inject.usher.dev/side: "false"}}, spec: {containers: [{name: app}]}}`)
	for _, d := range []*decision.Decision{Decide(r), VerifyMandatory(r)} {
		if d.Reason != reason.OptedOut || !d.Denied {
			t.Errorf("refused: %s (%s)", d.Reason, d.Message())
		}
	}
}

// TestRecord_AppContainers checks that usher relies on a record only if the pod's own
// containers have what it names, whatever others changed in that, and adds what is
// missing.
func TestRecord_AppContainers(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(`"inject.usher.dev/logs": "true"`, "")), Templates: set(mustParse(t, "logs", logs, ""))}
	once := string(apply(t, r, Decide(r)))
	before := recorded(t, []byte(once))["logs"]
	for name, tc := range map[string]struct {
		old, new, config string
		want             reason.Reason
	}{
		"a mount is removed":                     {`,"volumeMounts":[{"mountPath":"/logs/","name":"logs"}]`, "", logs, reason.Injected},
		"the container has another name":         {`"name":"app","env"`, `"name":"app2","env"`, logs, reason.Injected},
		"a value is changed":                     {`"value":"/logs"`, `"value":"/other"`, logs, reason.AlreadyInjected},
		"of another version":                     {`"value":"/logs"`, `"value":"/other"`, logs + "labels: {a: b}", reason.AlreadyInjected},
		"of another version, a variable removed": {`{"name":"LOG_DIR","value":"/logs"},`, "", logs + "labels: {a: b}", reason.Injected},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: []byte(strings.Replace(once, tc.old, tc.new, 1)), Templates: set(mustParse(t, "logs", tc.config, ""))}
			if string(r.Object) == once {
				t.Fatalf("nothing of %s", once)
			}
			d := Decide(r)
			if d.Reason != tc.want {
				t.Fatalf("%s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if !strings.Contains(name, "removed") {
				return
			}
			after := recorded(t, apply(t, r, d))["logs"]
			if !reflect.DeepEqual(after.AppContainers, before.AppContainers) || after.Containers[0] != "logs" {
				t.Errorf("record %v, was %v", after, before)
			}
		})
	}
}
