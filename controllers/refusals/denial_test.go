package refusals

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		note string
		want refusal
	}{
		"usher's denial": {
			`Error creating: admission webhook "default.pods.usher.dev" denied the request: template-missing: annotation inject.usher.dev/log asks for the template "log"`,
			refusal{ReasonRefused, `template-missing: annotation inject.usher.dev/log asks for the template "log"`},
		},
		"of several lines": {
			"Error creating: admission webhook \"a.usher.dev\" denied the request: first\nsecond\n",
			refusal{ReasonRefused, "first\nsecond"},
		},
		"usher cannot be called": {
			`Error creating: Internal error occurred: failed calling webhook "mandatory.pods.usher.dev": failed to call webhook: Post "https://usher.usher-system.svc:443/admit": dial tcp 10.0.0.1:443: connect: connection refused`,
			refusal{ReasonUnreachable, "the API server could not ask usher, which must decide about these pods"},
		},
		"another webhook":                  {`Error creating: admission webhook "policy.example.com" denied the request: no`, refusal{}},
		"a name that only looks like ours": {`Error creating: admission webhook "fusher.dev" denied the request: no`, refusal{}},
		"a quota":                          {`Error creating: pods "web-x" is forbidden: exceeded quota`, refusal{}},
		"nothing":                          {"", refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parse(tt.note)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(refusal{})); diff != "" || ok != (tt.want != refusal{}) {
				t.Errorf("%v, %s", ok, diff)
			}
		})
	}
}

func TestNotice(t *testing.T) {
	owner := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "api", UID: "1"}
	about := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "api-7d", UID: "2"}
	r, now := refusal{ReasonRefused, "template-missing: no template log"}, time.Date(2026, time.January, 1, 10, 0, 0, 0, time.UTC)
	got := notice(owner, about, r, now)
	if want := "template-missing: no template log: `usher explain deployment/api -n shop` says what to do"; got.Note != want || got.Reason != ReasonRefused || got.Regarding != owner {
		t.Errorf("got %q, %s, %v; want %q", got.Note, got.Reason, got.Regarding, want)
	}
	other, later := owner, now.Add(59*time.Minute)
	other.UID = "3"
	for name, tt := range map[string]struct {
		name string
		same bool
	}{
		"within the hour":  {notice(owner, about, r, later).Name, true},
		"an hour later":    {notice(owner, about, r, now.Add(time.Hour)).Name, false},
		"another cause":    {notice(owner, about, refusal{ReasonRefused, "host-network"}, now).Name, false},
		"another owner":    {notice(other, about, r, now).Name, false},
		"another instance": {notice(owner, corev1.ObjectReference{Name: "api-8e"}, r, now).Name, true},
	} {
		if (tt.name == got.Name) != tt.same {
			t.Errorf("%s: the name is %s, before %s", name, tt.name, got.Name)
		}
	}
	t.Run("an owner that usher does not explain", func(t *testing.T) {
		rollout := corev1.ObjectReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "api", UID: "1"}
		if got := notice(rollout, about, r, now); !strings.Contains(got.Note, "usher explain replicaset/api-7d -n shop") || got.Regarding != rollout {
			t.Errorf("got %q about %v", got.Note, got.Regarding)
		}
	})
	t.Run("a long reason and name", func(t *testing.T) {
		owner.Name = strings.Repeat("n", 199) + "-" + strings.Repeat("n", 53)
		got := notice(owner, about, refusal{ReasonRefused, strings.Repeat("ä", 2000)}, now)
		if len(got.Note) > longest || !utf8.ValidString(got.Note) || !strings.HasSuffix(got.Note, "says what to do") || len(validation.IsDNS1123Subdomain(got.Name)) > 0 {
			t.Errorf("%d bytes, a name of %d: %s", len(got.Note), len(got.Name), got.Note)
		}
	})
	t.Run("usher is unreachable", func(t *testing.T) {
		if got := notice(owner, about, refusal{ReasonUnreachable, "the API server could not ask usher"}, now); !strings.HasSuffix(got.Note, "`usher status` says what is wrong") {
			t.Errorf("got %q", got.Note)
		}
	})
}
