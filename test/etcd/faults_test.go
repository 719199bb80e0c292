//go:build e2e

package etcd_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// A fault stops a member without loss of data.
type fault struct {
	name string
	// inject breaks the member.
	inject func(s *scene, member string) broken
}

// broken is the state of a fault in a member.
type broken struct {
	// felt reports whether the fault has had its effect, and triggers it if
	// necessary.
	felt func() bool
	// heal ends the fault; nil if it ends by itself.
	heal func()
}

func faults() []fault {
	all := []fault{
		{"is killed", (*scene).killed},
		{"has its pod deleted", (*scene).podDeleted},
		{"is stopped", (*scene).stopped},
		{"has a full disk", (*scene).diskFull},
		{"loses the controller", (*scene).controllerKilled},
	}
	for _, p := range partitions {
		all = append(all, fault{p.name, p.inject})
	}
	return all
}

// longest is the maximum duration of a fault: long enough for an idle
// controller to observe it, and shorter than the member timeout.
const longest = 25 * time.Second

// TestFaultsCostNoMember breaks members in every way that keeps their data,
// each by itself and then several at once at random. The cluster must recover,
// lose nothing, and never replace a member.
func TestFaultsCostNoMember(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := newScene(t)
			random := rand.New(rand.NewPCG(uint64(seed), 2))
			s.create(s.onDisks(3))
			s.settled(3, v36)
			before, claims := s.names(), s.claims()
			w := s.write()
			all, count := faults(), 0
			for start := time.Now(); count < len(all) || time.Since(start) < *killFor; count++ {
				if count < len(all) {
					s.suffer(random, before, all[count:count+1])
					continue
				}
				several := []int{1, 1, 1, 1, 2, 2, 3}[random.IntN(7)]
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				s.suffer(random, before, all[:several])
			}
			s.verify(w)
			if after := s.names(); !slices.Equal(before, after) {
				t.Errorf("the members were %q and are %q", before, after)
			}
			if now := s.claims(); !maps.Equal(claims, now) {
				t.Errorf("the claims were %v and are %v", claims, now)
			}
			aside := s.setAside()
			t.Logf("seed %d: broken %d times; %d claims are set aside", seed, count, len(aside))
			if len(aside) > 0 {
				t.Errorf("the claims %q are set aside", aside)
			}
		})
	}
}

// suffer breaks as many members as there are faults, for a while, and waits until
// the cluster is healthy again.
func (s *scene) suffer(random *rand.Rand, members []string, faults []fault) {
	s.Helper()
	var all []broken
	victims := random.Perm(len(members))
	for i, f := range faults {
		victim := members[victims[i]]
		s.Log(victim, f.name)
		all = append(all, f.inject(s, victim))
	}
	// With several broken members, one may prevent the effect on another.
	if len(all) == 1 {
		s.until("that is felt", func(*etcdv1beta2.EtcdCluster) bool { return all[0].felt() })
	}
	s.endure(all, time.Second+time.Duration(random.Int64N(int64(longest))))
	for _, b := range all {
		if b.heal != nil {
			b.heal()
		}
	}
	// Faults that end by themselves may not have happened yet.
	s.until("the cluster is whole again", func(c *etcdv1beta2.EtcdCluster) bool {
		if aside := s.setAside(); len(aside) > 0 {
			s.Fatalf("the claims %q are set aside", aside)
		}
		return !slices.ContainsFunc(all, func(b broken) bool { return b.heal == nil && !b.felt() }) && s.wholeBy(c)
	})
}

// endure lets faults last.
func (s *scene) endure(all []broken, d time.Duration) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (bool, error) {
		for _, b := range all {
			b.felt()
		}
		return false, nil
	})
}

// wholeAgain waits until the cluster has recovered, and returns how long that
// took.
func (s *scene) wholeAgain() time.Duration {
	s.Helper()
	return s.until("the cluster is whole again", s.wholeBy)
}

// wholeBy reports whether status and pods agree that the cluster is healthy.
func (s *scene) wholeBy(c *etcdv1beta2.EtcdCluster) bool {
	return whole(c, 3, v36) && s.running(c.Status.Members.Ready)
}

// running reports whether the ready members match the existing pods, all of
// them ready: the status may be older than the fault.
func (s *scene) running(ready []string) bool {
	pods := s.pods()
	for _, p := range pods {
		if len(p.Status.ContainerStatuses) == 0 || !p.Status.ContainerStatuses[0].Ready || !slices.Contains(ready, p.Name) {
			return false
		}
	}
	return len(pods) == len(ready)
}

// claims returns the members' claims, by name.
func (s *scene) claims() map[string]types.UID {
	s.Helper()
	all := map[string]types.UID{}
	for _, c := range s.listClaims() {
		all[c.Name] = c.UID
	}
	return all
}

// setAside returns the claims that the controller will delete.
func (s *scene) setAside() (names []string) {
	s.Helper()
	for _, c := range s.listClaims() {
		if _, aside := c.Annotations[wellknown.AnnotationEtcdSetAside]; aside {
			names = append(names, c.Name)
		}
	}
	return names
}

func (s *scene) listClaims() []corev1.PersistentVolumeClaim {
	s.Helper()
	var all corev1.PersistentVolumeClaimList
	s.must(shared.client.List(s.Context(), &all, client.InNamespace(s.namespace)))
	return all.Items
}
