package member

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

const (
	// ContainerName is the name of etcd's container.
	ContainerName = "etcd"
	// DataVolume is the name of the volume with the member's data.
	DataVolume = "etcd-data"
	// DataMount is the path where DataVolume is mounted.
	DataMount = "/var/etcd"
	// DataFolder is the path of the member's data.
	DataFolder = DataMount + "/data"

	// etcdUser is the default user of etcd.
	etcdUser = 65532
)

// An InitialState is how a member's pod starts: see Pinned.
type InitialState struct {
	State   string // of --initial-cluster-state
	Cluster string // of --initial-cluster
}

// First returns the initial state of the member that forms the cluster.
func First(a Addresses, name string) InitialState {
	return InitialState{State: "new", Cluster: name + "=" + a.PeerURL(name)}
}

// Joining returns the initial state of a member that finds the others in the
// cluster, each as name=peerURL.
func Joining(a Addresses, name string, others []string) InitialState {
	all := append([]string{name + "=" + a.PeerURL(name)}, others...)
	return InitialState{State: "existing", Cluster: strings.Join(all, ",")}
}

// Pinned returns the initial state of a voting member: it starts only with its data.
//
// A voter that forgets its votes can elect a leader that lacks acknowledged
// writes; one that formed the cluster would form another of the same name. With
// data, etcd ignores these flags. Without data, it asks the other members in
// --initial-cluster for the list of members, and without any it ends. So a
// voter's pod lists only itself, from before it votes: the kubelet reads the
// annotations whenever it starts the container.
func Pinned(a Addresses, name string) InitialState {
	return InitialState{State: "existing", Cluster: name + "=" + a.PeerURL(name)}
}

// Annotations returns the annotations of the pod that set the flags.
func (b InitialState) Annotations() map[string]string {
	return map[string]string{wellknown.AnnotationEtcdInitialState: b.State, wellknown.AnnotationEtcdInitialCluster: b.Cluster}
}

// Pod returns a member's pod.
func (d *Desired) Pod(name, version string, b InitialState, storage Storage) *corev1.Pod {
	policy := d.policy()
	annotations := maps.Clone(policy.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, b.Annotations())
	annotations[wellknown.AnnotationEtcdVersion] = version
	d.revise(annotations, version)
	annotations[wellknown.AnnotationEtcdStorageRevision] = storage.Revision
	delete(annotations, wellknown.AnnotationEtcdSpaceRevision)
	if revision := etcd.SpaceRevision(&d.Cluster.Spec); revision != "" {
		annotations[wellknown.AnnotationEtcdSpaceRevision] = revision
	}
	annotations[wellknown.AnnotationEtcdTLS] = d.TLS.Recorded
	if given := d.TLS.givenRecord(); given != "" {
		annotations[wellknown.AnnotationEtcdCertificates] = given
	}

	node := labels.Set{wellknown.LabelEtcdMember: name}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Cluster.Namespace, Name: name, OwnerReferences: OwnedBy(d.Cluster),
			Labels:      labels.Merge(labels.Merge(own(policy.Labels), LabelsOf(d.Cluster.Name)), node),
			Annotations: annotations,
		},
		Spec: corev1.PodSpec{
			Hostname: name, Subdomain: d.Cluster.Name,
			RestartPolicy:                corev1.RestartPolicyAlways,
			AutomountServiceAccountToken: ptr.To(false),
			// A Service named etcd would set variables that etcd reads.
			EnableServiceLinks: ptr.To(false),
			SecurityContext:    podSecurity(policy.SecurityContext),
			NodeSelector:       policy.NodeSelector,
			Tolerations:        policy.Tolerations,
			Affinity:           affinity(d.Cluster.Name, policy),
			Containers:         []corev1.Container{d.container(name, version, policy)},
			Volumes:            []corev1.Volume{dataOf(name, storage)},

			TopologySpreadConstraints: spread(d.Cluster.Name, policy.TopologySpreadConstraints),
			PriorityClassName:         policy.PriorityClassName,
			ImagePullSecrets:          policy.ImagePullSecrets,
		},
	}
	d.TLS.mount(&p.Spec)
	return p
}

// own removes the labels by which the controller identifies its pods. The CRD
// refuses them, but an object may be older than that rule: with a voter's label
// an unproven member would get client traffic.
func own(written labels.Set) labels.Set {
	kept := labels.Set{}
	for key, value := range written {
		if !strings.HasPrefix(key, wellknown.EtcdPrefix) {
			kept[key] = value
		}
	}
	return kept
}

// repeats reports whether a variable repeats a flag, which makes etcd end.
func (d *Desired) repeats(e corev1.EnvVar) bool {
	return etcd.IgnoredVariable(&d.Cluster.Spec, e.Name) || etcd.SpaceVariable(&d.Cluster.Spec, e.Name)
}

func (d *Desired) container(name, version string, policy etcdv1beta2.PodPolicy) corev1.Container {
	env := []corev1.EnvVar{
		{Name: "INITIAL_CLUSTER", ValueFrom: annotation(wellknown.AnnotationEtcdInitialCluster)},
		{Name: "INITIAL_CLUSTER_STATE", ValueFrom: annotation(wellknown.AnnotationEtcdInitialState)},
	}
	return corev1.Container{
		Name: ContainerName, Image: d.Image(version),
		Command: append([]string{"/usr/local/bin/etcd"}, d.arguments(name)...),
		Env:     append(env, slices.DeleteFunc(slices.Clone(policy.EtcdEnv), d.repeats)...),
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: ClientPort}, {Name: "peer", ContainerPort: PeerPort}, {Name: "metrics", ContainerPort: MetricsPort},
		},
		Resources:    policy.Resources,
		VolumeMounts: []corev1.VolumeMount{{Name: DataVolume, MountPath: DataMount}},
		// A member that loads a large store is not dead.
		StartupProbe:   probe("/livez", 2, 900),
		LivenessProbe:  probe("/livez", 10, etcd.LivenessFailures(&d.Cluster.Spec)),
		ReadinessProbe: probe("/readyz", 2, 3),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		// The cluster's status shows etcd's last output.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// arguments returns etcd's flags.
func (d *Desired) arguments(name string) []string {
	a := d.Addresses
	return slices.Concat([]string{
		"--name=" + name,
		"--data-dir=" + DataFolder,
		"--initial-advertise-peer-urls=" + a.PeerURL(name),
		"--listen-peer-urls=" + scheme(a.PeerTLS) + "://" + d.listen() + ":2380",
		"--advertise-client-urls=" + a.ClientURL(name),
		"--listen-client-urls=" + scheme(a.ClientTLS) + "://" + d.listen() + ":2379",
		"--listen-metrics-urls=http://" + d.listen() + ":2381",
		"--initial-cluster=$(INITIAL_CLUSTER)",
		"--initial-cluster-state=$(INITIAL_CLUSTER_STATE)",
		"--initial-cluster-token=" + string(d.Cluster.UID),
	}, d.TLS.arguments(), etcd.Arguments(&d.Cluster.Spec), etcd.SpaceFlags(&d.Cluster.Spec))
}

func annotation(key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + key + "']"}}
}

func probe(path string, seconds, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("metrics")}},
		PeriodSeconds: seconds, FailureThreshold: failures, TimeoutSeconds: 5,
	}
}

// podSecurity returns the manifest's security context, or by default that of
// the restricted Pod Security Standard.
func podSecurity(given *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s := given.DeepCopy()
	if s == nil {
		s = &corev1.PodSecurityContext{RunAsGroup: ptr.To[int64](etcdUser), FSGroup: ptr.To[int64](etcdUser)}
	}
	root := (s.RunAsUser != nil && *s.RunAsUser == 0) || (s.RunAsNonRoot != nil && !*s.RunAsNonRoot)
	if !root {
		s.RunAsNonRoot = ptr.To(true)
		if s.RunAsUser == nil {
			s.RunAsUser = ptr.To[int64](etcdUser)
		}
		if s.FSGroup == nil {
			s.FSGroup = s.RunAsUser
		}
	}
	if s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return s
}

// affinity keeps members on separate nodes: if possible, or, if the manifest
// asks for it, always.
func affinity(cluster string, policy etcdv1beta2.PodPolicy) *corev1.Affinity {
	if policy.Affinity != nil {
		return policy.Affinity
	}
	apart := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: LabelsOf(cluster)},
		TopologyKey:   corev1.LabelHostname,
	}
	if policy.AntiAffinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{apart},
		}}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: apart}},
	}}
}
