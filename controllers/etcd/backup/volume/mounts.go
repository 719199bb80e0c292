// Package volume stores backups where only a pod in the namespace of their owner
// can: on PersistentVolumeClaims, which a controller cannot mount from elsewhere,
// and in buckets with the identity of a ServiceAccount. The controller starts the
// pod while it needs the store. The pod calls the controller, authenticates, and
// serves the store over that connection, so that only the controller can reach
// it, and no Secret is necessary.
package volume

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/transfer"
)

// Audience is the audience of the tokens of these pods.
const Audience = "usher-volume"

// A Pending is the error of a volume whose pod is not ready yet; the message
// says whether that needs human intervention.
type Pending struct {
	Message string
	// Bucket is true if the pod connects to a bucket.
	Bucket bool
}

// Error implements error.
func (p *Pending) Error() string { return p.Message }

// Mounts are the mounted volumes.
type Mounts struct {
	client client.Client
	reader client.Reader
	server *transfer.Server
	log    logr.Logger

	mu sync.Mutex
	// pods are the expected or connected pods, by owner.
	pods map[types.UID]*mount
}

// A mount is an expected pod, and its volume once it has called.
type mount struct {
	pod    types.UID
	place  Place
	volume *store.Volume
}

// New returns Mounts whose pods call the server.
func New(c client.Client, reader client.Reader, server *transfer.Server, log logr.Logger) *Mounts {
	m := &Mounts{client: c, reader: reader, server: server, log: log, pods: map[types.UID]*mount{}}
	server.Handle("GET /volume/{namespace}", m.accept)
	return m
}

// Open returns the store on a claim or in a bucket, or a Pending while the pod in
// the owner's namespace that reaches it starts. The owner owns the pod, which is
// deleted with the owner or by Close.
func (m *Mounts) Open(ctx context.Context, owner client.Object, what Place) (store.Store, error) {
	pending := func(format string, args ...any) error {
		_, bucket := what.(Bucket)
		return &Pending{fmt.Sprintf(format, args...), bucket}
	}
	if err := what.there(ctx, m.reader, owner.GetNamespace()); err != nil {
		return nil, err
	}
	want, err := m.podOf(ctx, owner, what)
	if err != nil {
		return nil, err
	}
	p := &corev1.Pod{}
	err = m.reader.Get(ctx, client.ObjectKeyFromObject(want), p)
	switch {
	case apierrors.IsNotFound(err):
		if err := m.client.Create(ctx, want); err != nil {
			return nil, what.uncreated(want.Name, err)
		}
		m.expect(owner.GetUID(), want.UID, what)
		return nil, pending("starting the pod %s, which %s", want.Name, what)
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(p, owner):
		return nil, fmt.Errorf("the pod %s does not belong to usher", p.Name)
	case p.DeletionTimestamp != nil:
		return nil, pending("waits for the deletion of the pod %s of an earlier attempt", p.Name)
	case !same(p, want):
		// The controller that it calls was replaced, or another place is needed.
		if err := m.delete(ctx, owner.GetUID(), p); err != nil {
			return nil, err
		}
		return nil, pending("recreates the pod %s", p.Name)
	}
	if v := m.expect(owner.GetUID(), p.UID, what); v != nil {
		return v, nil
	}
	if finished(p) {
		said := ended(p)
		if err := m.delete(ctx, owner.GetUID(), p); err != nil {
			return nil, err
		}
		return nil, &store.Error{Reason: store.Unavailable, Err: fmt.Errorf("the pod %s, which %s, has ended: %s", p.Name, what, said)}
	}
	return nil, pending("waits for the pod %s, which %s%s", p.Name, what, trouble(p))
}

// Close deletes the owner's pod, if there is one.
func (m *Mounts) Close(ctx context.Context, owner client.Object) error {
	m.mu.Lock()
	is := m.pods[owner.GetUID()]
	m.mu.Unlock()
	if is == nil {
		return nil
	}
	return m.delete(ctx, owner.GetUID(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: podName(owner), UID: is.pod}})
}

// expect accepts calls from the pod from now on, and no longer from earlier
// pods of the owner. It returns the volume once the pod has called.
func (m *Mounts) expect(owner, pod types.UID, what Place) *store.Volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.pods[owner]
	if is == nil || is.pod != pod {
		is.close()
		is = &mount{pod: pod, place: what}
		m.pods[owner] = is
	}
	if is.volume != nil {
		select {
		case <-is.volume.Gone():
			is.volume = nil
		default:
		}
	}
	return is.volume
}

func (m *Mounts) delete(ctx context.Context, owner types.UID, p *corev1.Pod) error {
	err := m.client.Delete(ctx, p, client.Preconditions{UID: &p.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the pod %s: %w", p.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods[owner].close()
	delete(m.pods, owner)
	return nil
}

func (m *mount) close() {
	if m != nil && m.volume != nil {
		m.volume.Close()
	}
}

// accept accepts the call of an expected pod, and holds the connection until it
// ends.
func (m *Mounts) accept(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	caller, err := m.server.Caller(r, namespace, Audience)
	var what Place
	if err == nil {
		what, err = m.expected(caller)
	}
	if err != nil {
		m.log.Info("refused the connection of a volume", "namespace", namespace, "pod", caller.Name, "reason", err.Error())
		http.Error(w, "the token does not belong to an expected pod", http.StatusForbidden)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		m.log.Error(err, "taking over the connection of a volume")
		return
	}
	defer conn.Close()
	if buffered.Reader.Buffered() > 0 {
		return // the client has to wait for the response
	}
	if _, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + store.Protocol + "\r\n\r\n")); err != nil {
		return
	}
	v, err := store.NewVolume(r.Context(), conn, what.behind())
	if err != nil {
		m.log.Info("a volume does not answer", "namespace", namespace, "pod", caller.Name, "reason", err.Error())
		return
	}
	defer v.Close()
	if !m.keep(caller.UID, v) {
		return
	}
	select {
	case <-v.Gone():
	case <-r.Context().Done():
	}
}

// expected returns the place of the pod that calls, if it is expected under that
// ServiceAccount.
func (m *Mounts) expected(caller transfer.Caller) (Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, is := range m.pods {
		switch {
		case is.pod != caller.UID:
		case is.place.account() != caller.Account:
			return nil, fmt.Errorf("its ServiceAccount is %s instead of %s", caller.Account, is.place.account())
		default:
			return is.place, nil
		}
	}
	return nil, errors.New("no such pod is expected")
}

// keep keeps the volume of a pod that is still expected.
func (m *Mounts) keep(pod types.UID, v *store.Volume) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, is := range m.pods {
		if is.pod == pod {
			is.close()
			is.volume = v
			return true
		}
	}
	return false
}
