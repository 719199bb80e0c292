package volume

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/transfer/podclient"
)

// Names in a volume's pod.
const (
	tokenVolume, tokenMount = "usher-token", "/var/run/secrets/usher"
	usherProgram            = "/usher"
	usherUser               = 65532
)

// podName returns a stable name that is unique to the owner.
func podName(owner client.Object) string {
	name := owner.GetName()
	sum := sha256.Sum256([]byte(owner.GetUID()))
	return fmt.Sprintf("%s-volume-%x", strings.TrimRight(name[:min(len(name), 40)], "-."), sum[:5])
}

// podOf returns the pod that reaches the place and calls the server. It ends
// when its connection does.
func (m *Mounts) podOf(ctx context.Context, owner client.Object, what Place) (*corev1.Pod, error) {
	image, err := m.server.Image(ctx)
	if err != nil {
		return nil, err
	}
	kind, err := apiutil.GVKForObject(owner, m.client.Scheme())
	if err != nil {
		return nil, err
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: podName(owner),
			Labels:          map[string]string{wellknown.LabelName: wellknown.Usher, wellknown.LabelComponent: "volume"},
			Annotations:     map[string]string{wellknown.AnnotationEtcdSnapshotServer: m.server.ID()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ServiceAccountName:           what.account(), // which the token is of
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			// A deletion that interrupts a backup makes it useless.
			TerminationGracePeriodSeconds: ptr.To[int64](5),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](usherUser), RunAsGroup: ptr.To[int64](usherUser), FSGroup: ptr.To[int64](usherUser),
				// Do not change the ownership of every file on a large volume each time.
				FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "usher", Image: image,
				Command: []string{
					usherProgram, "", "--url=" + m.server.URL + "/volume/" + owner.GetNamespace(),
					"--token-file=" + tokenMount + "/token",
				},
				Env:          []corev1.EnvVar{{Name: podclient.EnvCA, Value: m.server.CA}},
				VolumeMounts: []corev1.VolumeMount{{Name: tokenVolume, MountPath: tokenMount, ReadOnly: true}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
			Volumes: []corev1.Volume{
				{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						Audience: Audience, ExpirationSeconds: ptr.To[int64](600), Path: "token",
					}}},
				}}},
			},
		},
	}
	what.into(p)
	return p, nil
}

// same reports whether a pod is still the wanted one. Others may have changed
// what usher's annotations do not say.
func same(p, want *corev1.Pod) bool {
	for _, name := range []string{wellknown.AnnotationEtcdSnapshotServer, wellknown.AnnotationEtcdVolumeClaim, wellknown.AnnotationEtcdBucket} {
		if p.Annotations[name] != want.Annotations[name] {
			return false
		}
	}
	return true
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// ended returns why a pod has ended.
func ended(p *corev1.Pod) string {
	said := ""
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			lines := strings.Split(strings.TrimSpace(t.Message), "\n")
			said = cmp.Or(lines[len(lines)-1], t.Reason)
		}
	}
	return cmp.Or(said, p.Status.Message, p.Status.Reason, string(p.Status.Phase))
}

// trouble returns why a pod does not run, after a colon; or "".
func trouble(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return ": it is not scheduled: " + c.Message
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			return ": " + strings.TrimSpace(w.Reason+" "+w.Message)
		}
	}
	return ""
}
