package injector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

const (
	small  = "containers: [{name: side, image: side:1}]"
	second = "containers: [{name: log, image: log:1}]"
)

// asking is a pod with annotations, labels and a spec in addition to its
// container.
func asking(annotations, spec string) string {
	if spec == "" {
		spec = "containers: [{name: app, image: app}]"
	}
	return "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {" + annotations + "}}, spec: {" + spec + "}}"
}

const asks = `"inject.usher.dev/side": "true"`

// TestEveryReason produces each reason at least once, and checks part of its
// message.
func TestEveryReason(t *testing.T) {
	side := mustParse(t, "side", small, "")
	tests := map[string]struct {
		object    string
		kind      string
		namespace string
		labels    map[string]string
		templates *Set
		sidecars  bool
		want      reason.Reason
		denied    bool
		message   string // part of the denial
		warning   string // part of a warning
	}{
		"the annotation asks": {object: asking(asks, ""), want: reason.Injected},
		"the Initializer's annotation asks": {
			object: asking(`"initializer.kubernetes.io/side": "true"`, ""), want: reason.Injected,
		},
		"the namespace's label asks": {
			object: asking("", ""), labels: map[string]string{wellknown.LabelTemplates: "side"}, want: reason.Injected,
		},
		"a pod that only a match selects has another container": {
			object: asking("", "containers: [{name: side, image: mine}]"), templates: set(mustParse(t, "side", small, everyPod)), want: reason.MatchSkipped, warning: "conflict-container",
		},
		"a host name has another address": {
			object: asking(asks, "containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [one]}]"), want: reason.ConflictHostAlias, denied: true, message: `spec.hostAliases[0]: maps the host name "one" to 10.0.0.9, and template side to 10.0.0.1`,
			templates: set(mustParse(t, "side", small+"\nhostAliases: [{ip: 10.0.0.1, hostnames: [one]}]", "onConflict: {hostAliases: {one: deny}}")),
		},
		"nobody asks": {object: asking(`"other.io/side": "true"`, ""), want: reason.NotAsked},
		"the annotation's refusal wins over the namespace's label": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), labels: map[string]string{wellknown.LabelTemplates: "side"}, want: reason.OptedOut,
		},
		"a refusal of a mandatory template that the namespace asks for is denied": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), labels: map[string]string{wellknown.LabelTemplates: "side"},
			templates: set(mustParse(t, "side", small, "mandatory: true")), want: reason.OptedOut, denied: true,
			message: `metadata.annotations[inject.usher.dev/side]: is "false", and the template side, which the namespace label inject.usher.dev/templates asks for, does not let pods opt out`,
		},
		"a refusal of a mandatory template that nobody asks for is heard": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), templates: set(mustParse(t, "side", small, "mandatory: true")), want: reason.OptedOut,
		},
		"a refusal of a mandatory template is heard where it may be refused": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), labels: map[string]string{wellknown.LabelTemplates: "side"},
			templates: set(mustParse(t, "side", small, "{mandatory: true, optOut: allow}")), want: reason.OptedOut,
		},
		"a refusal is denied where a template that is not mandatory says so": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), labels: map[string]string{wellknown.LabelTemplates: "side"},
			templates: set(mustParse(t, "side", small, "optOut: deny")), want: reason.OptedOut, denied: true, message: "does not let pods opt out",
		},
		"a refusal of one template leaves the other": {
			object: asking(`"inject.usher.dev/side": "false"`, ""), labels: map[string]string{wellknown.LabelTemplates: "log.side"},
			templates: set(side, mustParse(t, "log", second, "")), want: reason.Injected,
		},
		"system namespaces are left alone": {object: asking(asks, ""), namespace: "kube-system", want: reason.NamespaceExclude},
		"usher's own namespace is left alone": {
			object: asking(asks, ""), namespace: "usher-system", want: reason.NamespaceExclude,
		},
		"pods on the host network are skipped": {
			object: asking(asks, "hostNetwork: true, containers: [{name: app}]"), want: reason.HostNetwork,
			warning: "the template side was not injected (host-network): spec.hostNetwork is true",
		},
		"pods on the host network are denied where the template is mandatory": {
			object: asking(asks, "hostNetwork: true, containers: [{name: app}]"), templates: set(mustParse(t, "side", small, "mandatory: true")),
			want: reason.HostNetwork, denied: true, message: "the template is mandatory",
		},
		"pods on the host network are injected where the template allows it": {
			object:    asking(asks, "hostNetwork: true, containers: [{name: app}]"),
			templates: set(mustParse(t, "side", small, "hostNetwork: allow")), want: reason.Injected,
		},
		"pods on Windows are skipped": {
			object: asking(asks, "os: {name: windows}, containers: [{name: app}]"), want: reason.Windows,
			warning: "the template side was not injected (windows): spec.os.name is windows",
		},
		"pods on Windows by their node selector": {
			object: asking(asks, `nodeSelector: {kubernetes.io/os: windows, x: y}, containers: [{name: app}]`), want: reason.Windows,
			warning: "spec.nodeSelector[kubernetes.io/os] is windows",
		},
		"pods on Windows are denied where the template is mandatory": {
			object: asking(asks, "os: {name: windows}, containers: [{name: app}]"), templates: set(mustParse(t, "side", small, "mandatory: true")),
			want: reason.Windows, denied: true, message: "the template is mandatory",
		},
		"pods that end are skipped without native sidecars": {
			object: asking(asks, "restartPolicy: Never, containers: [{name: app}]"), want: reason.NoNativeSidecars,
			warning: "this cluster does not run native sidecars",
		},
		"pods that end get native sidecars": {
			object: asking(asks, "restartPolicy: OnFailure, containers: [{name: app}]"), sidecars: true, want: reason.Injected,
		},
		"pods that end are skipped by a template that wants no native sidecars": {
			object: asking(asks, "restartPolicy: Never, containers: [{name: app}]"), sidecars: true,
			templates: set(mustParse(t, "side", small, "native: never")), want: reason.NoNativeSidecars, warning: "options.native",
		},
		"native: always takes a cluster that runs native sidecars": {
			object: asking(asks, ""), templates: set(mustParse(t, "side", small, "native: always")), want: reason.NoNativeSidecars,
			warning: "the template side adds native sidecars to every pod, and this cluster does not run native sidecars",
		},
		"a template that is a native sidecar by itself takes one as well": {
			object: asking(asks, ""), templates: set(mustParse(t, "side", "initContainers: [{name: side, image: s, restartPolicy: Always}]", "")), want: reason.NoNativeSidecars,
			warning: "this cluster does not run native sidecars",
		},
		"a namespace label that is empty asks for nothing": {
			object: asking("", ""), labels: map[string]string{wellknown.LabelTemplates: ""}, want: reason.NotAsked,
		},
		"a template that was withheld does not conflict with another": {
			object:    asking(asks+`, "inject.usher.dev/log": "true"`, "hostNetwork: true, containers: [{name: app}]"),
			templates: set(mustParse(t, "log", small, ""), mustParse(t, "side", small, "hostNetwork: allow")), want: reason.Injected,
			warning: "the template log was not injected (host-network)",
		},
		"pods that end are denied where the template is mandatory": {
			object: asking(asks, "restartPolicy: Never, containers: [{name: app}]"), templates: set(mustParse(t, "side", small, "mandatory: true")),
			want: reason.NoNativeSidecars, denied: true, message: "the template is mandatory",
		},
		"a template that does not exist is named with those that do": {
			object: asking(`"inject.usher.dev/sied": "true"`, ""), want: reason.TemplateMissing, denied: true,
			message: `annotation inject.usher.dev/sied asks for the template "sied", which does not exist; did you mean side?`,
		},
		"a template that cannot be used says why": {
			object:    asking(asks, ""),
			templates: NewSet(map[string]Entry{"side": {Err: &template.InvalidError{Name: "side", Problems: []finding.Finding{{Field: "data.config", Message: "is missing"}}}}}),
			want:      reason.TemplateInvalid, denied: true, message: "data.config: is missing",
		},
		"a value that is not a boolean is denied": {
			object: asking(`"inject.usher.dev/side": "yes"`, ""), want: reason.BadValue, denied: true,
			message: `metadata.annotations[inject.usher.dev/side]: is "yes"; write "true" or "false"`,
		},
		"two keys that say the opposite are denied": {
			object: asking(`"inject.usher.dev/side": "true", "initializer.kubernetes.io/side": "false"`, ""), want: reason.BadValue, denied: true,
			message: "initializer.kubernetes.io/side contradicts it",
		},
		"a name no template can have is denied": {
			object: asking(`"inject.usher.dev/Side": "true"`, ""), want: reason.BadValue, denied: true, message: "must be lower case",
		},
		"a namespace label with an empty name is denied": {
			object: asking("", ""), labels: map[string]string{wellknown.LabelTemplates: "side."}, want: reason.BadValue, denied: true,
			message: "the namespace's label inject.usher.dev/templates",
		},
		"more keys than anyone needs are denied": {
			object: asking(manyKeys(257), ""), want: reason.BadValue, denied: true, message: "metadata.annotations: has 257 of usher's keys; write at most 256",
		},
		"a record that is none is denied": {
			object: asking(asks+`, "usher.dev/injected": "yes"`, ""), want: reason.BadValue, denied: true, message: "not a record",
		},
		"a container of the same name conflicts": {
			object: asking(asks, "containers: [{name: app}, {name: side}]"), want: reason.ConflictName, denied: true,
			message: `spec.containers[1].name: the container "side" of template side (containers) has the name of one of the pod's containers`,
		},
		"an init container of the same name conflicts": {
			object: asking(asks, "initContainers: [{name: side}], containers: [{name: app}]"), want: reason.ConflictName, denied: true,
			message: "spec.initContainers[0].name",
		},
		"a volume of the same name and another source conflicts": {
			object:    asking(asks, "volumes: [{name: v, emptyDir: {}}], containers: [{name: app}]"),
			templates: set(mustParse(t, "side", small+"\nvolumes: [{name: v, configMap: {name: c}}]", "")),
			want:      reason.ConflictVolume, denied: true, message: "spec.volumes[0]",
		},
		"a volume of the same name and source is shared": {
			object:    asking(asks, "volumes: [{name: v, configMap: {name: c, defaultMode: 420}}], containers: [{name: app}]"),
			templates: set(mustParse(t, "side", small+"\nvolumes: [{name: v, configMap: {name: c}}]", "")),
			want:      reason.Injected,
		},
		"a host port that is taken conflicts": {
			object:    asking(asks, "containers: [{name: app, ports: [{containerPort: 1, hostPort: 80}]}]"),
			templates: set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 2, hostPort: 80}]}]", "")),
			want:      reason.ConflictHostPort, denied: true, message: "spec.containers[0].ports[0].hostPort",
		},
		"a host port of another protocol or address does not": {
			object:    asking(asks, "containers: [{name: app, ports: [{containerPort: 1, hostPort: 80, protocol: UDP}, {containerPort: 3, hostPort: 80, hostIP: 10.0.0.1}]}]"),
			templates: set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 2, hostPort: 80, hostIP: 10.0.0.2}]}]", "")),
			want:      reason.Injected,
		},
		"on the host network every port is the host's": {
			object:    asking(asks, "hostNetwork: true, containers: [{name: app, ports: [{containerPort: 80}]}]"),
			templates: set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 80}]}]", "hostNetwork: allow")),
			want:      reason.ConflictHostPort, denied: true, message: "takes the host port 80/TCP",
		},
		"a container port that two share is a warning": {
			object:    asking(asks, "containers: [{name: app, ports: [{containerPort: 80}]}]"),
			templates: set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 80}]}]", "")),
			want:      reason.Injected, warning: "only one of them can listen",
		},
		"the same port of another protocol is none": {
			object:    asking(asks, "containers: [{name: app, ports: [{containerPort: 80, protocol: UDP}]}]"),
			templates: set(mustParse(t, "side", "containers: [{name: side, image: i, ports: [{containerPort: 80}]}]", "")),
			want:      reason.Injected,
		},
		"a label set to another value conflicts": {
			object:    `{metadata: {labels: {a: x}, annotations: {` + asks + `}}, spec: {containers: [{name: app}]}}`,
			templates: set(mustParse(t, "side", small+"\nlabels: {a: b}", "")),
			want:      reason.ConflictMetadata, denied: true, message: `metadata.labels[a]: is set to "x" by the pod and to "b" by template side`,
		},
		"a label set to the same value is kept": {
			object:    `{metadata: {labels: {a: b}, annotations: {` + asks + `}}, spec: {containers: [{name: app}]}}`,
			templates: set(mustParse(t, "side", small+"\nlabels: {a: b}", "")), want: reason.Injected,
		},
		"two templates that cannot go together are both named": {
			object:    asking(asks+`, "inject.usher.dev/log": "true"`, ""),
			templates: set(side, mustParse(t, "log", small, "")),
			want:      reason.ConflictName, denied: true, message: `conflict-container: the container "side" of template side (containers) has the name of one of template log`,
		},
		"a field of the wrong type is undecodable": {
			object: `{metadata: {annotations: {"inject.usher.dev/side": true}}, spec: {containers: [{name: app}]}}`, want: reason.Undecodable, denied: true,
			message: "metadata.annotations[inject.usher.dev/side]: is a boolean; must be a string (quote it)",
		},
		"a pod without containers is undecodable": {
			object: asking(asks, "containers: []"), want: reason.Undecodable, denied: true, message: "spec.containers: is empty",
		},
		"a pod without a spec is undecodable": {object: "{metadata: {}}", want: reason.Undecodable, denied: true, message: "spec: is missing"},
		"a workload's problem is in its pod template": {
			kind: "CronJob", object: "{spec: {jobTemplate: {spec: {template: {metadata: {annotations: {" + asks + "}}, spec: {containers: [{name: side}]}}}}}}",
			want: reason.ConflictName, denied: true, message: "spec.jobTemplate.spec.template.spec.containers[0].name",
		},
	}
	named := map[reason.Reason]bool{
		reason.AlreadyInjected:      true, // TestSecondPass, and the next three
		reason.AlreadyPresent:       true,
		reason.RecordMismatch:       true,
		reason.MandatoryChanged:     true, // TestMandatory
		reason.PolicyClean:          true, // the rules'
		reason.PolicyWarned:         true,
		reason.PolicyDenied:         true,
		reason.TemplateValid:        true, // the webhook's: for ConfigMaps and Namespaces
		reason.ConflictMount:        true, // TestAppContainers, and TestParseTemplate
		reason.ConflictEnv:          true, // TestAppContainers
		reason.TooLarge:             true, // the webhook's: the object does not reach a decision
		reason.NetworkAttached:      true, // TestAttach, and the next five
		reason.NetworkPresent:       true,
		reason.NetworkMissing:       true,
		reason.NetworkCreating:      true,
		reason.NetworkPool:          true,
		reason.NetworkBackend:       true,
		reason.NetworkDeclared:      true, // the webhook's: for Deployments
		reason.NetworkForeign:       true,
		reason.ConfigurationValid:   true, // from the configuration, not from a template
		reason.ConfigurationInvalid: true,
	}
	for name, tc := range tests {
		named[tc.want] = true
		t.Run(name, func(t *testing.T) {
			if tc.templates == nil {
				tc.templates = set(side)
			}
			d := Decide(Request{
				Object: fromYAML(t, tc.object), Kind: tc.kind, Namespace: tc.namespace, Scope: decision.Scope{ReleaseNamespace: "usher-system"},
				NamespaceLabels: tc.labels, Templates: tc.templates, NativeSidecars: tc.sidecars,
			})
			if d.Reason != tc.want || d.Denied != tc.denied {
				t.Fatalf("got %s, denied %v (%s); want %s, denied %v", d.Reason, d.Denied, d.Message(), tc.want, tc.denied)
			}
			if !strings.Contains(d.Message(), tc.message) {
				t.Errorf("message %q lacks %q", d.Message(), tc.message)
			}
			if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, tc.warning) || tc.warning == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
			if (d.Reason == reason.Injected) != (len(d.Patch) > 0) {
				t.Errorf("%s with the patch %s", d.Reason, d.Patch.JSON())
			}
		})
	}
	for _, r := range reason.All() {
		if !named[r] {
			t.Errorf("no test names the reason %s", r)
		}
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"inject.usher.dev/t%d": "true"`, i)
	}
	return strings.Join(keys, ",")
}
