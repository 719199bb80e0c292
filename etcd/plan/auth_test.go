package plan_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// TestNext_Authentication decides about a settled cluster, and about one whose
// member is down.
func TestNext_Authentication(t *testing.T) {
	on, off := &v1beta2.AuthPolicy{Enabled: true, RootSecret: "example-root"}, &v1beta2.AuthPolicy{RootSecret: "example-root"}
	for name, tc := range map[string]struct {
		policy *v1beta2.AuthPolicy
		seen   plan.Auth
		change func(*v1beta2.ClusterSpec, *plan.Observation)
		want   string
	}{
		"not managed, disabled":               {nil, plan.Auth{Known: true}, nil, ""},
		"not managed, enabled":                {nil, plan.Auth{Known: true, Enabled: true}, nil, ""},
		"wanted, disabled":                    {on, plan.Auth{Known: true}, nil, "enable authentication: spec.auth.enabled is true"},
		"wanted, enabled":                     {on, plan.Auth{Known: true, Enabled: true}, nil, ""},
		"wanted, unknown":                     {on, plan.Auth{}, nil, ""},
		"wanted, without the Secret":          {on, plan.Auth{Known: true, Unready: true}, nil, ""},
		"enabled, without the Secret":         {on, plan.Auth{Known: true, Enabled: true, Unready: true, UserMissing: true}, nil, ""},
		"another password":                    {on, plan.Auth{Known: true, Enabled: true, PasswordDiffers: true}, nil, "set the users that usher logs in as: the Secret example-root has another password than etcd's user root"},
		"no user for the certificate":         {on, plan.Auth{Known: true, Enabled: true, UserMissing: true}, nil, "set the users that usher logs in as: etcd has no user with the role root for the certificate of usher's client"},
		"not wanted, enabled":                 {off, plan.Auth{Known: true, Enabled: true}, nil, "disable authentication: spec.auth.enabled is false"},
		"not wanted, enabled, without Secret": {off, plan.Auth{Known: true, Enabled: true, Unready: true}, nil, "disable authentication: spec.auth.enabled is false"},
		"not wanted, disabled":                {off, plan.Auth{Known: true}, nil, ""},
		"before growing": {on, plan.Auth{Known: true}, func(s *v1beta2.ClusterSpec, _ *plan.Observation) { s.Size = 5 },
			"enable authentication: spec.auth.enabled is true"},
		"after repairs": {on, plan.Auth{Known: true}, func(_ *v1beta2.ClusterSpec, o *plan.Observation) {
			m := &o.Members[1]
			m.Answers, m.DataGone, m.Pod, m.Claim = false, true, plan.Pod{}, plan.Claim{}
			m.Unresponsive = &plan.Unresponsive{Since: o.Now, According: plan.Client | plan.Kubelet}
		}, "remove example-2: its data is lost; the others have a copy"},
		"while paused": {on, plan.Auth{Known: true}, func(s *v1beta2.ClusterSpec, _ *plan.Observation) { s.Paused = true }, ""},
		"without a quorum": {on, plan.Auth{Known: true}, func(_ *v1beta2.ClusterSpec, o *plan.Observation) { o.Quorum = false },
			"waits for a quorum"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}
			seen := plan.Settled("example", spec)
			spec.Auth, seen.Auth = tc.policy, tc.seen
			if tc.change != nil {
				tc.change(spec, &seen)
			}
			got := ""
			if p := plan.Next(spec, &seen); p.Now() != nil {
				got = p.Now().String()
			}
			if got != tc.want {
				t.Errorf("the step is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestMake_ChangesAuthenticationOnce has the plan for people end.
func TestMake_ChangesAuthenticationOnce(t *testing.T) {
	spec := &v1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}
	seen := plan.Settled("example", spec)
	spec.Auth = &v1beta2.AuthPolicy{Enabled: true, RootSecret: "example-root"}
	var got []plan.Action
	for _, s := range plan.Make(spec, &seen).Steps {
		got = append(got, s.Action)
	}
	if diff := cmp.Diff([]plan.Action{plan.EnableAuth}, got); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
}

// An authentication is etcd's, in a world.
type authentication struct {
	enabled bool
	// password: root has the Secret's password. user: the certificate of the
	// controller's client is a user's.
	password, user bool
}

// seen is what the controller sees of it. Without the password and the user, etcd
// refuses the controller.
func (a authentication) seen(spec *v1beta2.ClusterSpec, quorum bool) plan.Auth {
	if spec.Auth == nil || !quorum {
		return plan.Auth{}
	}
	return plan.Auth{Known: true, Enabled: a.enabled, PasswordDiffers: a.enabled && !a.password, UserMissing: a.enabled && !a.user}
}

// refused reports whether etcd refuses the controller.
func (w *world) refused() bool {
	return w.authenticated || w.auth.enabled && !w.auth.password && !w.auth.user
}

// authSettled reports whether authentication is as the spec wants it.
func (w *world) authSettled() bool {
	policy := w.spec.Auth
	return policy == nil || policy.Enabled == w.auth.enabled && (!policy.Enabled || w.auth.password && w.auth.user)
}

func (w *worldSteps) EnableAuth(ctx context.Context, s plan.Step) error {
	if err := w.SetUsers(ctx, s); err != nil || w.leader() == nil {
		return err
	}
	if !w.auth.password {
		w.violate("%s: nobody knows the password of root", s)
	}
	w.c.call(func() { w.auth.enabled = true })
	return nil
}

func (w *worldSteps) SetUsers(context.Context, plan.Step) error {
	if w.leader() != nil {
		w.c.call(func() { w.auth.password = true })
		w.c.call(func() { w.auth.user = true })
	}
	return nil
}

func (w *worldSteps) DisableAuth(context.Context, plan.Step) error {
	if w.leader() != nil {
		w.c.call(func() { w.auth.enabled = false })
	}
	return nil
}

// withAuth are clusters with and without authentication.
func withAuth() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)}, {states.Version("3.6.16"), states.Version("3.7.3")}, {states.Claims("1Gi")},
		{states.Auth(false), states.Auth(true)},
	})
}

// TestAuthentication_WithEveryFault_Converges enables and disables authentication
// together with other changes, with every fault before every early step.
func TestAuthentication_WithEveryFault_Converges(t *testing.T) {
	k := newWalk()
	k.begin = func(w *world) {
		w.auth.enabled = w.spec.Auth.Enabled
		w.auth.password, w.auth.user = w.auth.enabled, w.auth.enabled
	}
	if err := k.pairs(withAuth(), []int{0, 1, 2}, 5); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		if err := k.sequence(seed, withAuth()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, k.lost, k.stalled)
}
