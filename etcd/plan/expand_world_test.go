package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	etcdmember "github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// A driver is how a volume grows.
type driver int

const (
	prompt     driver = iota // within a minute
	late                     // after ten minutes
	never                    // without a word
	infeasible               // it says that it cannot
	online                   // its node grows the file system while the pod runs
	offline                  // its node grows the file system only for another pod
)

// A volume is what has grown of a claim.
type volume struct {
	capacity  resource.Quantity
	expansion *etcdmember.Expansion
	// since is when it began to grow, mounting the pod for which only its file system
	// was left to grow.
	since      time.Time
	infeasible bool
	mounting   string
}

// The world's StorageClasses.
const (
	growing = "growing"
	rigid   = "rigid"
)

func (w *world) classes() map[string]string {
	return map[string]string{growing: "", rigid: "its StorageClass rigid does not have allowVolumeExpansion: true"}
}

// describeVolume writes what the API server has of a claim's volume.
func (w *world) describeVolume(o *corev1.PersistentVolumeClaim, c *claim) {
	o.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: c.storage}
	o.Spec.StorageClassName = &w.class
	o.Status.Phase = corev1.ClaimBound
	if !c.capacity.IsZero() {
		o.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: c.capacity}
	}
	if c.infeasible {
		o.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible}
	}
	if c.mounting != "" {
		o.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
	}
	if c.expansion != nil {
		text, err := json.Marshal(c.expansion)
		if err != nil {
			panic(err)
		}
		o.Annotations[wellknown.AnnotationEtcdExpansion] = string(text)
	}
}

// drive has volumes grow as their drivers do.
func (w *world) drive() {
	for name, c := range w.claims {
		if c.capacity.Cmp(c.storage) >= 0 {
			continue
		}
		if c.since.IsZero() {
			c.since = w.now
		}
		how := prompt
		if w.driven != nil {
			how = w.driven(c)
		}
		p := w.pods[name]
		switch {
		case how == never:
			continue
		case how == infeasible:
			c.infeasible = true
			continue
		case how == late && w.now.Sub(c.since) < 10*minute:
			continue
		case how == online || how == offline:
			if c.mounting == "" && p != nil {
				c.mounting = p.uid
				continue
			}
			if p == nil || !p.up || how == offline && p.uid == c.mounting {
				continue
			}
		}
		c.volume = volume{capacity: c.storage, expansion: c.expansion}
	}
}

// volumesSettled describes a volume of a member that is not as the spec wants it.
func (w *world) volumesSettled() error {
	for _, n := range w.members {
		c := w.claims[n.name]
		if c == nil {
			continue
		}
		wanted := etcd.RequestedStorage(w.spec)
		if !c.storage.Equal(wanted) || c.capacity.Cmp(wanted) < 0 && !c.capacity.IsZero() || c.expansion != nil || c.storageRevision != storageRevision(w.spec) {
			return fmt.Errorf("the volume of %s has %s, and its claim asks for %s, %+v", n.name, c.capacity.String(), c.storage.String(), c.expansion)
		}
	}
	return nil
}

func (w *worldSteps) ExpandClaim(_ context.Context, s plan.Step) error {
	c, p, m := w.claims[s.Member], w.pods[s.Member], w.o.ByName(s.Member)
	seen := w.o.Claims[s.Member]
	if c == nil || p == nil || p.ending || seen == nil || string(seen.UID) != c.uid {
		return nil
	}
	x := &m.Claim.Expansion
	if !x.Asked {
		w.expands(&s, c)
		w.c.call(func() {
			c.storage, c.storageRevision = etcd.RequestedStorage(w.spec), storageRevision(w.spec)
			c.expansion = &etcdmember.Expansion{At: metav1.NewTime(w.o.Now)}
		})
		w.c.call(func() { p.storageRevision = storageRevision(w.spec) })
		return nil
	}
	w.c.call(func() {
		at := metav1.NewTime(w.o.Now)
		switch {
		case m.StorageRevision != storageRevision(w.spec):
			p.storageRevision = storageRevision(w.spec)
		case x.Done:
			c.expansion = nil
		case c.expansion != nil:
			c.expansion = &etcdmember.Expansion{At: c.expansion.At, Mounting: &at, Pod: w.o.Pods[s.Member].UID}
		}
	})
	return nil
}

// expands checks that a claim may grow, and no other one does.
func (w *worldSteps) expands(s *plan.Step, c *claim) {
	if w.class != growing {
		w.violate("%s: its class does not allow it", s)
	}
	if wanted := etcd.RequestedStorage(w.spec); wanted.Cmp(c.storage) <= 0 {
		w.violate("%s: it has %s already", s, c.storage.String())
	}
	if len(w.controllers) > 1 {
		return
	}
	for _, n := range w.members {
		if n.learner {
			w.violate("%s: %s is being added", s, n.name)
		}
		if other := w.claims[n.name]; other != nil && other != c && other.expansion != nil {
			w.violate("%s: the claim of %s grows", s, n.name)
		}
	}
}
