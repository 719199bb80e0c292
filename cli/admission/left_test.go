package admission

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/admissionregistration/v1"
)

// TestLeft_Notes adds up what two sets have counted, and describes a limited number.
func TestLeft_Notes(t *testing.T) {
	one := because{policy: "p", binding: "b", why: "a reason"}
	all := Left{}
	all.Add(Left{one: 1, {policy: "p", binding: "b", what: audited}: 1, {policy: "a", what: ignored, why: "an error"}: 1})
	all.Add(Left{one: 2})
	want := []string{
		"ValidatingAdmissionPolicy a failed once, and ignores failures: an error",
		"ValidatingAdmissionPolicy p with binding b was not evaluated 3 times: a reason",
		"ValidatingAdmissionPolicy p with binding b was violated once, and only writes into the audit log",
	}
	if diff := cmp.Diff(want, all.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for i := range maxNotes {
		all.Add(Left{{policy: fmt.Sprintf("q%02d", i)}: 1})
	}
	if notes := all.Notes(); len(notes) != maxNotes+1 || notes[maxNotes] != "and 3 more reasons why usher does not evaluate ValidatingAdmissionPolicies" {
		t.Errorf("%d notes, the last %q", len(notes), notes[len(notes)-1])
	}
}

// TestCount_LimitsReasons keeps counting those that it has.
func TestCount_LimitsReasons(t *testing.T) {
	e := &evaluation{Policies: New(nil), policy: &policy{Policy: NewPolicy(&v1.ValidatingAdmissionPolicy{}, "")}}
	for i := range maxLeft + 1 {
		e.ignore(fmt.Sprint(i))
	}
	e.ignore("0")
	e.ignore("another")
	left := e.Left()
	if n := left[because{what: ignored, why: "0"}]; len(left) != maxLeft || n != 2 {
		t.Errorf("%d reasons, the first %d times", len(left), n)
	}
}
