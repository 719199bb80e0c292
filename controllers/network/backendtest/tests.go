package backendtest

import (
	"context"
	"slices"
	"testing"

	"github.com/usher-dev/usher/controllers/network/backend"
)

func once(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.10.0.0/24", "10.10.0.1")
	s.ensure(t, want, backend.Created)
	s.ensure(t, want, backend.Unchanged)
	s.ensure(t, want, backend.Unchanged)
}

func hostBits(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "192.168.1.0/16", "192.168.1.1")
	s.ensure(t, want, backend.Created)
	s.ensure(t, want, backend.Unchanged)
}

func noGateway(t *testing.T, s suite, owner backend.Owner) {
	s.ensure(t, wanted(t, owner, "10.11.0.0/24", ""), backend.Created)
	s.ensure(t, wanted(t, owner, "10.11.0.0/24", ""), backend.Unchanged)
	s.ensure(t, wanted(t, owner, "10.11.0.0/24", "10.11.0.1"), backend.Updated)
	s.ensure(t, wanted(t, owner, "10.11.0.0/24", ""), backend.Updated)
}

func gateway(t *testing.T, s suite, owner backend.Owner) {
	s.ensure(t, wanted(t, owner, "10.12.0.0/24", "10.12.0.1"), backend.Created)
	s.ensure(t, wanted(t, owner, "10.12.0.0/24", "10.12.0.77"), backend.Updated)
	_, detach := s.world.Attach(t, owner)
	defer detach()
	s.ensure(t, wanted(t, owner, "10.12.0.0/24", "10.12.0.254"), backend.Updated)
	s.ensure(t, wanted(t, owner, "10.12.0.0/24", "10.12.0.254"), backend.Unchanged)
}

func replace(t *testing.T, s suite, owner backend.Owner) {
	s.ensure(t, wanted(t, owner, "10.13.0.0/24", "10.13.0.1"), backend.Created)
	s.ensure(t, wanted(t, owner, "10.13.0.0/23", "10.13.0.1"), backend.Replaced)
	s.ensure(t, wanted(t, owner, "172.16.0.0/16", ""), backend.Replaced)
	s.ensure(t, wanted(t, owner, "172.16.0.0/16", ""), backend.Unchanged)
}

func refuse(t *testing.T, s suite, owner backend.Owner) {
	is := wanted(t, owner, "10.14.0.0/24", "10.14.0.1")
	s.ensure(t, is, backend.Created)
	user, detach := s.world.Attach(t, owner)
	_, err := s.settle(t.Context(), wanted(t, owner, "10.15.0.0/24", "10.15.0.1"))
	fails(t, err, backend.InUse, user)
	s.there(t, owner, is.Subnet)
	detach()
	s.ensure(t, wanted(t, owner, "10.15.0.0/24", "10.15.0.1"), backend.Replaced)
}

func drift(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.16.0.0/24", "10.16.0.1")
	s.ensure(t, want, backend.Created)
	s.world.Drift(t, owner, "10.16.0.99")
	s.ensure(t, want, backend.Updated)
	s.ensure(t, want, backend.Unchanged)
}

func removed(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.17.0.0/24", "10.17.0.1")
	s.ensure(t, want, backend.Created)
	s.world.Remove(t, owner)
	s.there(t, owner)
	s.ensure(t, want, backend.Created)
}

func adopt(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.18.0.0/24", "10.18.0.1")
	s.ensure(t, want, backend.Created)
	want.UID = "another-" + want.UID
	if _, err := s.settle(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	s.ensure(t, want, backend.Unchanged)
}

func foreign(t *testing.T, s suite, owner backend.Owner) {
	untouched := s.world.Occupy(t, owner)
	if untouched == nil {
		s.ensure(t, wanted(t, owner, "10.19.0.0/24", "10.19.0.1"), backend.Created)
		return
	}
	_, err := s.settle(t.Context(), wanted(t, owner, "10.19.0.0/24", "10.19.0.1"))
	fails(t, err, backend.Foreign)
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Errorf("deleting where another's is: %v", err)
	}
	if !untouched() {
		t.Error("another's was changed")
	}
}

func deleted(t *testing.T, s suite, owner backend.Owner) {
	s.ensure(t, wanted(t, owner, "10.20.0.0/24", "10.20.0.1"), backend.Created)
	for range 2 {
		if err := s.backend.Delete(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		s.there(t, owner)
	}
}

func deleteUsed(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.21.0.0/24", "10.21.0.1")
	s.ensure(t, want, backend.Created)
	user, detach := s.world.Attach(t, owner)
	fails(t, s.backend.Delete(t.Context(), owner), backend.InUse, user)
	s.there(t, owner, want.Subnet)
	s.used(t, want, user)
	detach()
	s.used(t, want)
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	s.there(t, owner)
}

func deleteNothing(t *testing.T, s suite, owner backend.Owner) {
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Error(err)
	}
}

func listed(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.22.0.0/24", "10.22.0.1")
	s.ensure(t, want, backend.Created)
	find := func(n int) (found []backend.Made) {
		t.Helper()
		// A backend may list from a cache.
		s.eventually(t, func(ctx context.Context) (bool, error) {
			all, err := s.backend.List(ctx)
			found = slices.DeleteFunc(all, func(made backend.Made) bool {
				return made.Namespace != owner.Namespace || made.Name != owner.Name
			})
			return len(found) == n, err
		})
		return found
	}
	if found := find(1); len(found) != 1 || found[0].Owner != owner || found[0].Subnet != want.Subnet || len(found[0].Resources) == 0 {
		t.Errorf("listed %+v, want %+v once", found, want)
	}
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	s.there(t, owner)
	if found := find(0); len(found) != 0 {
		t.Errorf("listed %+v after it was deleted", found)
	}
}

func apart(t *testing.T, s suite, owner backend.Owner) {
	other := owner
	other.Name, other.UID = owner.Name+"-other", owner.UID+"-other"
	one, another := wanted(t, owner, "10.23.0.0/24", "10.23.0.1"), wanted(t, other, "10.24.0.0/24", "10.24.0.1")
	s.ensure(t, one, backend.Created)
	s.ensure(t, another, backend.Created)
	user, detach := s.world.Attach(t, other)
	defer detach()
	s.used(t, one)
	s.used(t, another, user)
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Error(err)
	}
	fails(t, s.backend.Delete(t.Context(), other), backend.InUse, user)
}

func ended(t *testing.T, s suite, owner backend.Owner) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.backend.Ensure(ctx, wanted(t, owner, "10.25.0.0/24", "10.25.0.1")); err == nil {
		t.Error("made a network though the context had ended")
	}
	s.there(t, owner)
}

func six(t *testing.T, s suite, owner backend.Owner) {
	s.ensure(t, wanted(t, owner, "fd00:10::/64", "fd00:10::1"), backend.Created)
	s.ensure(t, wanted(t, owner, "fd00:10::/64", "fd00:10::1"), backend.Unchanged)
	s.ensure(t, wanted(t, owner, "fd00:10::/64", "fd00:10::5"), backend.Updated)
}

func again(t *testing.T, s suite, owner backend.Owner) {
	want := wanted(t, owner, "10.26.0.0/24", "10.26.0.1")
	s.ensure(t, want, backend.Created)
	if err := s.backend.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	want.UID += "-again"
	s.ensure(t, want, backend.Created)
}
