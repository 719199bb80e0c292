// Package kubelet runs the pods of etcd's members as processes of this machine,
// for tests with an API server and without a node. The processes, their data
// and their communication are real. It implements the part of a kubelet that
// members need: it assigns addresses, mounts emptyDirs, claims and Secrets,
// reads annotations into variables whenever it starts a container, restarts
// containers, probes them, and takes its time to delete.
package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/usher-dev/usher/test/cluster/components"
)

// tick is how often a pod is synchronized.
const tick = 50 * time.Millisecond

// A Kubelet runs pods.
type Kubelet struct {
	// Usher is the program for usher's containers.
	Usher string

	clients  kubernetes.Interface
	prefix   string // of the namespaces whose pods it runs
	folder   string
	binaries string
	names    *names

	mu       sync.Mutex
	pods     map[types.UID]*pod
	versions map[types.UID]*corev1.Pod // the latest from the API server
	next     byte
	block    block
	withheld map[string]bool                // tags
	resizes  map[string]corev1.PodCondition // what pods answer to a resize, by namespace/name
	contents map[string]string              // versions by digest
	ended    sync.WaitGroup
}

// Start runs the pods in namespaces with the prefix until the context ends;
// Wait then waits for the processes to end. It stores data in the folder.
func Start(ctx context.Context, config *rest.Config, prefix, folder string, progress io.Writer) (*Kubelet, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	k := &Kubelet{
		clients: clients, prefix: prefix, folder: folder,
		pods: map[types.UID]*pod{}, versions: map[types.UID]*corev1.Pod{}, withheld: map[string]bool{}, contents: map[string]string{}, resizes: map[string]corev1.PodCondition{},
	}
	if k.block, err = reserve(); err != nil {
		return nil, err
	}
	if k.binaries, err = components.Ensure(ctx, progress, "etcd-3.5", "etcd-3.6", "etcd-3.7", "etcdutl-3.6", "etcdutl-3.7"); err != nil {
		return nil, err
	}
	if k.names, err = serveNames(); err != nil {
		return nil, err
	}
	list := toolscache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fieldsEverything())
	_, informer, watcher, _ := watchtools.NewIndexerInformerWatcher(list, &corev1.Pod{})
	_ = informer
	k.ended.Go(func() {
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-watcher.ResultChan():
				if !open {
					return
				}
				k.hear(ctx, event)
			}
		}
	})
	return k, nil
}

// Wait waits until everything has ended.
func (k *Kubelet) Wait() {
	k.ended.Wait()
	k.names.close()
	_ = k.block.held.Close()
}

// hear processes a pod from the API server.
func (k *Kubelet) hear(ctx context.Context, event watch.Event) {
	p, ok := event.Object.(*corev1.Pod)
	if !ok || !strings.HasPrefix(p.Namespace, k.prefix) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if event.Type == watch.Deleted {
		delete(k.versions, p.UID)
		return
	}
	k.versions[p.UID] = p
	if _, known := k.pods[p.UID]; known || p.Status.Phase == corev1.PodFailed {
		return
	}
	k.next++
	run := &pod{kubelet: k, uid: p.UID, ip: fmt.Sprintf("127.77.%d.%d", k.block.number, k.next), node: fmt.Sprintf("processes-%d-%d", k.block.number, k.next)}
	if strings.Contains(strings.Join(p.Spec.Containers[0].Command, " "), "//[::]:") {
		run.ip = "::1" // of which a machine has one: such a cluster has one member
	}
	k.pods[p.UID] = run
	k.ended.Go(func() { run.run(ctx) })
}

// spec returns the latest pod from the API server, nil once it is deleted.
func (k *Kubelet) spec(uid types.UID) *corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.versions[uid]
}

// of finds the running pod with that name.
func (k *Kubelet) of(namespace, name string) (*pod, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, run := range k.pods {
		if p := k.versions[uid]; p != nil && p.Namespace == namespace && p.Name == name {
			return run, nil
		}
	}
	return nil, fmt.Errorf("no pod %s/%s runs", namespace, name)
}

// Kill kills the pod's process with SIGKILL; it restarts.
func (k *Kubelet) Kill(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.kill()
	return nil
}

// Wipe deletes the data of a pod and kills its process with SIGKILL; it
// restarts.
func (k *Kubelet) Wipe(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	return run.wipe()
}

// Evict ends a pod permanently, like a kubelet without disk space: its
// emptyDirs are deleted.
func (k *Kubelet) Evict(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.evict()
	return nil
}

// bind binds the pod to a node of its own; otherwise the API server deletes it
// immediately.
func (k *Kubelet) bind(ctx context.Context, p *corev1.Pod, node string) error {
	if err := k.register(ctx, node); err != nil {
		return err
	}
	err := k.clients.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) {
		return nil // it was already bound
	}
	return err
}

// Addresses is the range of pod addresses.
func (k *Kubelet) Addresses() []net.IP {
	var all []net.IP
	for last := range 255 {
		all = append(all, net.IPv4(127, 77, k.block.number, byte(last+1)))
	}
	return all
}

// Claim returns the folder of a claim's data.
func (k *Kubelet) Claim(namespace, claim string) string { return k.claimFolder(namespace, claim) }

// claimFolder returns the folder of a claim's data.
func (k *Kubelet) claimFolder(namespace, claim string) string {
	return filepath.Join(k.folder, "claims", namespace, claim)
}

// Log returns the output of the pod's process since its last start.
func (k *Kubelet) Log(namespace, name string) string {
	run, err := k.of(namespace, name)
	if err != nil {
		return err.Error()
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.process == nil {
		return run.said
	}
	return run.process.lastWords()
}
