package volume

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/controllers/transfer"
)

// TestExpected_OnlyThePodUnderItsServiceAccount asks with what tokens may say; the
// API server binds no token of one ServiceAccount to a pod of another.
func TestExpected_OnlyThePodUnderItsServiceAccount(t *testing.T) {
	m := &Mounts{pods: map[types.UID]*mount{}}
	m.expect("backup", "pod", Bucket{Account: "backups"})
	m.expect("other", "mounts", Claim("claim"))
	for name, tc := range map[string]struct {
		caller transfer.Caller
		want   bool
	}{
		"the pod":                       {transfer.Caller{UID: "pod", Account: "backups"}, true},
		"under another ServiceAccount":  {transfer.Caller{UID: "pod", Account: "default"}, false},
		"under none":                    {transfer.Caller{UID: "pod"}, false},
		"another pod":                   {transfer.Caller{UID: "else", Account: "backups"}, false},
		"a claim's":                     {transfer.Caller{UID: "mounts", Account: "default"}, true},
		"a claim's, under another":      {transfer.Caller{UID: "mounts", Account: "backups"}, false},
		"a pod that was expected first": {transfer.Caller{UID: "", Account: "backups"}, false},
	} {
		if what, err := m.expected(tc.caller); (err == nil) != tc.want || (what != nil) != tc.want {
			t.Errorf("%s: %v, %v", name, what, err)
		}
	}
}
