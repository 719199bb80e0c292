package restore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/controllers/etcd/reach"
	"github.com/usher-dev/usher/controllers/transfer"
	"github.com/usher-dev/usher/controllers/transfer/podclient"
)

// Names in a seed's pod.
const (
	fetchContainer, restoreContainer = "usher-fetch", "usher-restore"
	fetchVolume, fetchMount          = "usher-snapshot", "/usher-snapshot"
	tokenVolume, tokenMount          = "usher-token", "/var/run/secrets/usher"
	usherProgram                     = "/usher"
	etcdutlProgram                   = "/usr/local/bin/etcdutl"
)

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// seed starts a member from the backup, and waits until it is ready. Later phases
// start it again if its pod is gone.
func (c *Controller) seed(ctx context.Context, a *attempt) error {
	if err := c.reserve(ctx, a); err != nil {
		return err
	}
	want, err := c.seedOf(ctx, a)
	if err != nil {
		return err
	}
	p, err := c.pod(ctx, a)
	if err != nil {
		return err
	}
	if err := c.mount(ctx, a, p == nil || !restored(p)); err != nil {
		return err
	}
	switch {
	case p == nil:
		if err := c.writer().CreateSeed(ctx, want); err != nil {
			return err
		}
		return wait(ReasonStarting, "starts %s from the backup", want.Pod.Name)
	case p.DeletionTimestamp != nil:
		return wait(ReasonStarting, "waits for the deletion of the pod %s of an earlier attempt; %s", p.Name, lostNode(p))
	case p.Status.Phase == corev1.PodFailed || !restored(p) && p.Annotations[wellknown.AnnotationEtcdSnapshotServer] != want.Pod.Annotations[wellknown.AnnotationEtcdSnapshotServer]:
		// The pod was evicted, or the controller that it calls was replaced.
		if err := c.client.Delete(ctx, p, client.Preconditions{UID: &p.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
		return wait(ReasonStarting, "recreates the pod %s", p.Name)
	}
	if !observe.Ready(p) {
		return c.starting(ctx, a, p)
	}
	return nil
}

// mount keeps the pod of a volume or ServiceAccount while the seed needs its
// backup.
func (c *Controller) mount(ctx context.Context, a *attempt, needed bool) error {
	switch {
	case !etcdbackup.NeedsPod(a.Spec.BackupStorageType, &a.Spec.BackupSource):
		return nil
	case !needed:
		return c.places.Close(ctx, a.EtcdRestore)
	}
	_, err := c.places.Open(ctx, a.EtcdRestore, a.Spec.BackupStorageType, &a.Spec.BackupSource, reach.Grace{})
	return err
}

// reserve reserves the cluster, and waits until its controller knows.
func (c *Controller) reserve(ctx context.Context, a *attempt) error {
	if err := c.addFinalizer(ctx, a.EtcdRestore); err != nil {
		return err
	}
	switch a.cluster.Annotations[wellknown.AnnotationEtcdRestore] {
	case a.Name:
	case "":
		was := a.cluster.DeepCopy()
		metav1.SetMetaDataAnnotation(&a.cluster.ObjectMeta, wellknown.AnnotationEtcdRestore, a.Name)
		delete(a.cluster.Annotations, wellknown.AnnotationEtcdSwitchover) // of another restore
		if err := c.client.Patch(ctx, a.cluster, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
	default:
		return stop(ReasonTaken, "the EtcdRestore %s has reserved the cluster in the meantime", a.cluster.Annotations[wellknown.AnnotationEtcdRestore])
	}
	if a.cluster.Status.HeldBy != a.Name {
		return wait(ReasonStarting, "waits for the EtcdCluster controller to release the cluster")
	}
	return nil
}

// pod returns the seed's pod, or nil.
func (c *Controller) pod(ctx context.Context, a *attempt) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	err := c.reader.Get(ctx, key(a.Namespace, member.SeedName(a.EtcdRestore)), p)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !metav1.IsControlledBy(p, a.EtcdRestore) && !metav1.IsControlledBy(p, a.cluster) {
		return nil, fmt.Errorf("the pod %s does not belong to usher", p.Name)
	}
	return p, err
}

// seedOf returns the cluster's first member, with the containers that create
// its data. It belongs to the EtcdRestore until it has replaced the old
// members.
func (c *Controller) seedOf(ctx context.Context, a *attempt) (*member.Seed, error) {
	image, err := c.server.Image(ctx)
	if err != nil {
		return nil, err
	}
	s := member.SeedOf(a.cluster, member.SeedName(a.EtcdRestore), strings.TrimPrefix(a.cluster.Spec.Version, "v"))
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(a.EtcdRestore, etcdv1beta2.GroupVersion.WithKind("EtcdRestore"))}
	s.Pod.OwnerReferences = owner
	if s.Claim != nil {
		if s.Claim.OwnerReferences, err = member.ClaimOwners(ctx, c.reader, a.Namespace, owner[0]); err != nil {
			return nil, err
		}
	}
	s.Pod.Annotations[wellknown.AnnotationEtcdSnapshotServer] = c.server.ID()
	spec := &s.Pod.Spec
	spec.ServiceAccountName = "default" // which the token is of
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: fetchVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: transfer.Audience, ExpirationSeconds: ptr.To[int64](600), Path: "token",
			}}},
		}}},
	)
	data := corev1.VolumeMount{Name: member.DataVolume, MountPath: member.DataMount}
	fetched := corev1.VolumeMount{Name: fetchVolume, MountPath: fetchMount}
	etcd := spec.Containers[0]
	spec.InitContainers = []corev1.Container{
		{
			Name: fetchContainer, Image: image,
			Command: []string{
				usherProgram, "fetch-snapshot", "--url=" + c.server.Path(a.Namespace, a.Name), "--token-file=" + tokenMount + "/token",
				"--data-dir=" + member.DataFolder, "--to=" + fetchMount,
			},
			Env:          []corev1.EnvVar{{Name: podclient.EnvCA, Value: c.server.CA}},
			VolumeMounts: []corev1.VolumeMount{data, fetched, {Name: tokenVolume, MountPath: tokenMount, ReadOnly: true}},
		},
		{
			Name: restoreContainer, Image: etcd.Image,
			Command: []string{
				fetchMount + usherProgram, "restore-snapshot", "--from=" + fetchMount, "--data-dir=" + member.DataFolder, "--",
				etcdutlProgram, "snapshot", "restore", "--name=" + s.Pod.Name, "--initial-cluster=" + s.Pod.Name + "=" + s.PeerURL,
				"--initial-advertise-peer-urls=" + s.PeerURL, "--initial-cluster-token=" + s.Token,
			},
			VolumeMounts: []corev1.VolumeMount{data, fetched},
		},
	}
	if bump := a.Spec.BumpRevision; bump > 0 {
		restore := &spec.InitContainers[1]
		restore.Command = append(restore.Command, "--bump-revision="+strconv.FormatInt(bump, 10), "--mark-compacted") // etcdutl takes only both
	}
	for i := range spec.InitContainers {
		init := &spec.InitContainers[i]
		init.Resources, init.SecurityContext = etcd.Resources, etcd.SecurityContext
		init.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	return s, nil
}

// restored reports whether the seed's data is complete.
func restored(p *corev1.Pod) bool {
	for _, s := range p.Status.InitContainerStatuses {
		if s.Name == restoreContainer && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 {
			return true
		}
	}
	return false
}
