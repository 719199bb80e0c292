package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod is a running pod.
type pod struct {
	kubelet *Kubelet
	uid     types.UID
	ip      string
	node    string

	looking sync.Mutex // held during synchronization

	mu       sync.Mutex
	process  *process
	restarts int32
	lastEnd  time.Time
	said     string
	evicted  bool
	status   corev1.PodStatus
	prepared []corev1.ContainerStatus
	// refreshed is when the Secrets in its volumes were last read.
	refreshed time.Time
	pull      error                        // why the image is missing
	applied   *corev1.ResourceRequirements // of the container

	disconnected, unready bool
	front                 string // the address in the status, if not ip
	behind                time.Duration
}

// run synchronizes the pod until it is deleted.
func (r *pod) run(ctx context.Context) {
	defer r.stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	bound := false
	for {
		p := r.kubelet.spec(r.uid)
		if p == nil {
			r.clean()
			return
		}
		if !bound {
			bound = r.kubelet.bind(ctx, p, r.node) == nil
		}
		if bound && r.look(ctx, p) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// key returns the pod's DNS name.
func key(p *corev1.Pod) string { return p.Spec.Hostname + "." + p.Spec.Subdomain + "." + p.Namespace }

// look synchronizes the pod, and reports whether it ended.
func (r *pod) look(ctx context.Context, p *corev1.Pod) (ended bool) {
	r.looking.Lock()
	defer r.looking.Unlock()
	r.mu.Lock()
	disconnected := r.disconnected
	r.mu.Unlock()
	if disconnected {
		return false
	}
	if p.DeletionTimestamp != nil {
		r.kubelet.names.remove(key(p), r.ip)
		r.stop()
		none := int64(0)
		err := r.kubelet.clients.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &p.UID}})
		if err == nil || apierrors.IsNotFound(err) {
			r.clean()
			return true
		}
		return false
	}
	r.mu.Lock()
	evicted := r.evicted
	r.mu.Unlock()
	if evicted {
		r.kubelet.names.remove(key(p), r.ip)
		r.stop()
		r.clean()
		return r.write(ctx, p, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage."}) == nil
	}
	r.kubelet.names.set(key(p), r.ip)
	if !r.prepare(ctx, p) {
		return false
	}
	r.keepRunning(ctx, p)
	r.refreshSecrets(ctx, p)
	ready := r.probe(ctx)
	_ = r.write(ctx, p, r.statusOf(p, ready))
	return false
}

// keepRunning starts the container, and restarts it if it ended or changed.
func (r *pod) keepRunning(ctx context.Context, p *corev1.Pod) {
	r.mu.Lock()
	running := r.process
	r.mu.Unlock()
	if running != nil && !running.ended() && running.image == p.Spec.Containers[0].Image {
		return
	}
	if running != nil && p.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return
	}
	if running != nil {
		running.stop()
		r.mu.Lock()
		if !running.counted {
			running.counted = true
			r.restarts++
			r.lastEnd, r.said = time.Now(), running.lastWords()
		}
		wait := min(time.Duration(r.restarts)*200*time.Millisecond, 2*time.Second)
		early := running.image == p.Spec.Containers[0].Image && time.Since(r.lastEnd) < wait
		r.mu.Unlock()
		if early {
			return
		}
	}
	started, err := r.start(ctx, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pull = nil
	if pull := (pullError{}); errors.As(err, &pull) {
		r.pull = err
	}
	if err != nil {
		r.said = err.Error()
		return
	}
	r.process = started
}

// start starts the pod's container from its current spec.
func (r *pod) start(ctx context.Context, p *corev1.Pod) (*process, error) {
	c := p.Spec.Containers[0]
	if err := r.kubelet.pull(c.Image); err != nil {
		return nil, err
	}
	folders, err := r.mount(ctx, p, &c)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			path := e.ValueFrom.FieldRef.FieldPath
			annotation, ok := strings.CutPrefix(path, "metadata.annotations['")
			if !ok {
				return nil, fmt.Errorf("the field %s is not one this kubelet reads", path)
			}
			env[e.Name] = p.Annotations[strings.TrimSuffix(annotation, "']")]
		}
	}
	var args []string
	for _, arg := range append(c.Command[1:], c.Args...) {
		for name, value := range env {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		arg = strings.ReplaceAll(arg, "0.0.0.0", r.ip)
		arg = strings.ReplaceAll(arg, "[::]", "["+r.ip+"]")
		args = append(args, inFolders(arg, folders))
	}
	binary, known := r.kubelet.programs(c.Command[0], c.Image)
	if _, err := os.Stat(binary); !known || err != nil {
		return nil, fmt.Errorf("ErrImagePull: %s", c.Image)
	}
	if err := os.MkdirAll(r.folder(), 0o700); err != nil {
		return nil, err
	}
	hosts := filepath.Join(r.folder(), "hosts")
	if err := os.WriteFile(hosts, []byte(r.kubelet.names.hosts()), 0o600); err != nil {
		return nil, err
	}
	cmd := withHosts(hosts, binary, args)
	// Killing a process loses nothing that the kernel has.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HTTP_PROXY=" + r.kubelet.names.url(), "HTTPS_PROXY=" + r.kubelet.names.url(), "ETCD_UNSAFE_NO_FSYNC=true"}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+inFolders(value, folders))
	}
	return startProcess(cmd, c.Image, filepath.Join(r.folder(), "log"))
}

// folder returns the folder of what is deleted with the pod.
func (r *pod) folder() string { return filepath.Join(r.kubelet.folder, "pods", string(r.uid)) }

// clean removes what is deleted with the pod.
func (r *pod) clean() { _ = os.RemoveAll(r.folder()) }

// mount creates the pod's volumes and returns their folders by mount path.
func (r *pod) mount(ctx context.Context, p *corev1.Pod, c *corev1.Container) (map[string]string, error) {
	folders := map[string]string{}
	for _, m := range c.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			folder := filepath.Join(r.folder(), v.Name)
			if v.PersistentVolumeClaim != nil {
				name := v.PersistentVolumeClaim.ClaimName
				if _, err := r.kubelet.clients.CoreV1().PersistentVolumeClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
					return nil, err
				}
				folder = r.kubelet.claimFolder(p.Namespace, name)
			}
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return nil, err
			}
			if v.Secret != nil {
				if err := r.writeSecret(ctx, p.Namespace, v.Secret, folder); err != nil {
					return nil, err
				}
			}
			if v.Projected != nil {
				if err := r.writeTokens(ctx, p, v.Projected, folder); err != nil {
					return nil, err
				}
			}
			folders[m.MountPath] = folder
		}
	}
	return folders, nil
}

// stop ends the process.
func (r *pod) stop() {
	r.mu.Lock()
	running := r.process
	r.mu.Unlock()
	if running != nil {
		running.stop()
	}
}

func (r *pod) kill() {
	r.mu.Lock()
	running := r.process
	r.mu.Unlock()
	if running != nil {
		running.signal(syscall.SIGKILL)
	}
}

// wipe deletes the data of the pod's volumes, and then kills the process.
func (r *pod) wipe() error {
	err := r.eachData(os.RemoveAll)
	r.kill()
	return err
}

// eachData calls a function for the data folder of each volume.
func (r *pod) eachData(do func(string) error) error {
	p := r.kubelet.spec(r.uid)
	if p == nil {
		return nil
	}
	for _, v := range p.Spec.Volumes {
		folder := filepath.Join(r.folder(), v.Name)
		if v.PersistentVolumeClaim != nil {
			folder = r.kubelet.claimFolder(p.Namespace, v.PersistentVolumeClaim.ClaimName)
		}
		if v.Secret == nil {
			if err := do(filepath.Join(folder, "data")); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *pod) evict() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evicted = true
}
