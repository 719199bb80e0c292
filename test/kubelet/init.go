package kubelet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prepare runs the pod's init containers, one after the other, each until it
// succeeds. It reports whether all have.
func (r *pod) prepare(ctx context.Context, p *corev1.Pod) bool {
	for i := len(r.prepared); i < len(p.Spec.InitContainers); i++ {
		c := &p.Spec.InitContainers[i]
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
		said, err := r.runOnce(ctx, p, c)
		if err != nil {
			ended := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: said + err.Error()}
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
			s.LastTerminationState.Terminated = ended
			_ = r.write(ctx, p, r.preparing(append(r.prepared[:i:i], s)))
			return false
		}
		s.Ready, s.State.Terminated = true, &corev1.ContainerStateTerminated{Reason: "Completed"}
		r.prepared = append(r.prepared, s)
		_ = r.write(ctx, p, r.preparing(r.prepared))
	}
	return true
}

// preparing is the status of a pod whose container has not started.
func (r *pod) preparing(containers []corev1.ContainerStatus) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodPending, PodIP: r.ip, PodIPs: []corev1.PodIP{{IP: r.ip}}, InitContainerStatuses: containers,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
	}
}

// runOnce runs an init container to its end.
func (r *pod) runOnce(ctx context.Context, p *corev1.Pod, c *corev1.Container) (said string, err error) {
	folders, err := r.mount(ctx, p, c)
	if err != nil {
		return "", err
	}
	var args []string
	for _, arg := range append(c.Command, c.Args...) {
		arg = inFolders(arg, folders)
		if program, ok := r.kubelet.programs(arg, c.Image); ok {
			arg = program
		}
		args = append(args, arg)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], err
}

// inFolders replaces mount paths by their folders, at the beginning of an
// argument or of a flag's value.
func inFolders(arg string, folders map[string]string) string {
	for mount, folder := range folders {
		at := strings.Index(arg, mount)
		whole := at >= 0 && (len(arg) == at+len(mount) || arg[at+len(mount)] == '/')
		if whole && (at == 0 || arg[at-1] == '=') {
			return arg[:at] + folder + arg[at+len(mount):]
		}
	}
	return arg
}

// programs finds the program for a path in an image.
func (k *Kubelet) programs(path, image string) (string, bool) {
	program, found := strings.CutPrefix(path, "/usr/local/bin/")
	switch {
	case path == "/usher":
		return k.Usher, true
	case !found:
		return "", false
	}
	_, tag, _ := strings.Cut(image, ":v")
	if _, digest, found := strings.Cut(image, "@"); found {
		k.mu.Lock()
		tag = cmp.Or(k.contents[digest], tag)
		k.mu.Unlock()
	}
	return filepath.Join(k.binaries, program+"-"+strings.Join(strings.SplitN(tag+".", ".", 3)[:2], ".")), true
}

// writeTokens writes the tokens of a projected volume.
func (r *pod) writeTokens(ctx context.Context, p *corev1.Pod, source *corev1.ProjectedVolumeSource, folder string) error {
	for _, s := range source.Sources {
		t := s.ServiceAccountToken
		if t == nil {
			return errors.New("a projected volume has more than tokens, which this kubelet does not write")
		}
		token, err := r.kubelet.clients.CoreV1().ServiceAccounts(p.Namespace).CreateToken(ctx, p.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{
				Audiences: []string{t.Audience}, ExpirationSeconds: t.ExpirationSeconds,
				BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("asking for a token: %w", err)
		}
		if err := os.WriteFile(filepath.Join(folder, t.Path), []byte(token.Status.Token), 0o600); err != nil {
			return err
		}
	}
	return nil
}
