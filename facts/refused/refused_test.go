package refused

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestByUsher(t *testing.T) {
	for name, tt := range map[string]struct {
		message string
		want    Refusal
		ok      bool
	}{
		"a denial": {
			`Error creating: admission webhook "annotated-pods.inject.usher.dev" denied the request: template-missing: annotation inject.usher.dev/log asks for the template "log"`,
			Refusal{Said: `template-missing: annotation inject.usher.dev/log asks for the template "log"`}, true,
		},
		"several lines": {"admission webhook \"pods.validate.usher.dev\" denied the request: first\nsecond\n", Refusal{Said: "first\nsecond"}, true},
		"not reached": {
			`Error creating: Internal error occurred: failed calling webhook "annotated-pods.inject.usher.dev": failed to call webhook: connection refused`,
			Refusal{Said: `"annotated-pods.inject.usher.dev": failed to call webhook: connection refused`, Unreached: true}, true,
		},
		"another webhook, whose reason names ours": {`admission webhook "policy.example.com" denied the request: ask "pods.validate.usher.dev"`, Refusal{}, false},
		"another webhook that was not reached":     {`failed calling webhook "policy.example.com": no answer; "pods.validate.usher.dev" answered`, Refusal{}, false},
		"a name that only looks like ours":         {`admission webhook "fusher.dev" denied the request: no`, Refusal{}, false},
		"a quota":                                  {`pods "web-x" is forbidden: exceeded quota`, Refusal{}, false},
		"nothing":                                  {"", Refusal{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ByUsher(tt.message)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("ok is %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestByWebhook(t *testing.T) {
	if said, ok := ByWebhook(`admission webhook "policy.example.com" denied the request: no`); said != "no" || !ok {
		t.Errorf("%q, %t", said, ok)
	}
	if said, ok := ByWebhook("exceeded quota"); said != "" || ok {
		t.Errorf("%q, %t", said, ok)
	}
}
