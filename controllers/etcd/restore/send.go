package restore

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/transfer"
)

// sendWithin is how long a pod may hold a turn: for a verification, which took
// less in the phase Looking, and for the transfer.
const sendWithin = 2 * lookWithin

// Backup implements transfer.Source: only the pod of a seed that is being restored
// gets its backup. A tenant may create a pod with that name, so the pod must
// belong to the EtcdRestore, and the token must be bound to it.
//
// It verifies the backup first: the tenant names the store, and whatever else
// the controller can read there must not reach the tenant's pod.
func (c *Controller) Backup(ctx context.Context, namespace, restore string, caller transfer.Caller) (io.ReadCloser, int64, error) {
	r, err := c.seeded(ctx, namespace, restore, caller)
	if err != nil {
		return nil, 0, err
	}
	endTurn, ok := c.sending.Take(namespace)
	if !ok {
		return nil, 0, errors.New("usher is sending other backups: it sends this one when the pod asks again")
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	end := func() { cancel(); endTurn() }
	verified, err := c.verify(ctx, r)
	if err != nil {
		end()
		return nil, 0, fmt.Errorf("verifying the backup: %w", errors.Join(err, ctx.Err()))
	}
	body, _, err := c.open(ctx, r)
	if err != nil {
		end()
		return nil, 0, err
	}
	return &sent{verified.Again(body), body, end}, verified.Size(), nil
}

// seeding reports whether the pod may need the backup: also for another time, if
// it is replaced and its volume with it.
func seeding(phase string) bool {
	switch phase {
	case etcdv1beta2.RestorePhaseSeeding, etcdv1beta2.RestorePhaseProving, etcdv1beta2.RestorePhaseSwitching:
		return true
	}
	return false
}

// seeded returns the EtcdRestore whose backup the pod may have.
func (c *Controller) seeded(ctx context.Context, namespace, restore string, caller transfer.Caller) (*etcdv1beta2.EtcdRestore, error) {
	r := &etcdv1beta2.EtcdRestore{}
	if err := c.reader.Get(ctx, key(namespace, restore), r); err != nil {
		return nil, fmt.Errorf("reading the EtcdRestore %s: %w", restore, err)
	}
	if !seeding(r.Status.Phase) || caller.Name != member.SeedName(r) {
		return nil, errors.New("this pod is not the one being restored")
	}
	p := &corev1.Pod{}
	if err := c.reader.Get(ctx, key(namespace, caller.Name), p); err != nil {
		return nil, fmt.Errorf("reading the pod %s: %w", caller.Name, err)
	}
	if p.UID != caller.UID || !metav1.IsControlledBy(p, r) {
		return nil, fmt.Errorf("the pod %s does not belong to the EtcdRestore %s", p.Name, r.Name)
	}
	return r, nil
}

func (c *Controller) verify(ctx context.Context, r *etcdv1beta2.EtcdRestore) (*snapshot.Verified, error) {
	body, _, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return snapshot.Verify(body)
}

// sent is a verified backup on its way to a pod.
type sent struct {
	io.Reader
	body io.Closer
	end  func()
}

// Close implements io.Closer.
func (s *sent) Close() error {
	defer s.end()
	return s.body.Close()
}
