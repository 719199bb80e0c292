package cluster

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
	"github.com/usher-dev/usher/policies/etcd"
)

const (
	containerName = "etcd"
	// etcdUser is who etcd runs as, where the manifest does not say.
	etcdUser = 65532

	dataFolder = "/var/etcd"
	dataVolume = "etcd-data"
)

// A birth is how a member's pod starts: see sealed.
type birth struct {
	state   string // of --initial-cluster-state
	cluster string // of --initial-cluster
}

// first is the birth of the member that forms the cluster.
func first(a addresses, name string) birth {
	return birth{state: "new", cluster: name + "=" + a.peerURL(name)}
}

// joining is the birth of a member that finds the others in the cluster.
func (s *observed) joining(a addresses, name string) birth {
	all := []string{name + "=" + a.peerURL(name)}
	for _, m := range s.Members {
		if m.Listed && m.Name != name {
			all = append(all, m.Name+"="+s.details[m.Name].peerURL)
		}
	}
	return birth{state: "existing", cluster: strings.Join(all, ",")}
}

// sealed is how a member that votes starts: with its data or not at all.
//
// One that votes and forgets what it voted for can elect a leader that lacks
// what was acknowledged; one that formed the cluster would form another of the
// same name. Where there is data, etcd does not look at these flags. Where there
// is none, it asks the other members of --initial-cluster who they are, and with
// nobody to ask it ends. So a voter's pod says that it is alone, from before it
// votes: the kubelet reads the annotations anew whenever it starts the
// container.
func sealed(a addresses, name string) birth {
	return birth{state: "existing", cluster: name + "=" + a.peerURL(name)}
}

func (b birth) annotations() map[string]string {
	return map[string]string{AnnotationState: b.state, AnnotationCluster: b.cluster}
}

// podOf is a member's pod.
func (d *desired) podOf(name, version string, b birth, storage storage) *corev1.Pod {
	policy := d.policy()
	annotations := maps.Clone(policy.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, b.annotations())
	annotations[AnnotationVersion] = version
	annotations[AnnotationPodRevision] = d.podRevision
	annotations[AnnotationStorageRevision] = storage.revision
	annotations[AnnotationTLS] = d.tls.recorded

	node := labels.Set{LabelNode: name}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.cluster.Namespace, Name: name, OwnerReferences: ownedBy(d.cluster),
			Labels:      labels.Merge(labels.Merge(own(policy.Labels), labelsOf(d.cluster.Name)), node),
			Annotations: annotations,
		},
		Spec: corev1.PodSpec{
			Hostname: name, Subdomain: d.cluster.Name,
			RestartPolicy:                corev1.RestartPolicyAlways,
			AutomountServiceAccountToken: ptr.To(false),
			// A Service named etcd would write variables that etcd reads.
			EnableServiceLinks: ptr.To(false),
			SecurityContext:    podSecurity(policy.SecurityContext),
			NodeSelector:       policy.NodeSelector,
			Tolerations:        policy.Tolerations,
			Affinity:           affinity(d.cluster.Name, policy),
			Containers:         []corev1.Container{d.container(name, version, policy)},
			Volumes:            []corev1.Volume{dataOf(name, storage)},
		},
	}
	d.tls.mount(&p.Spec)
	return p
}

// own leaves out the labels by which the controller knows its pods. The CRD refuses
// them, and an object may be older than what the CRD says: a voter's label would send
// clients to a member that has yet to prove itself.
func own(written labels.Set) labels.Set {
	kept := labels.Set{}
	for key, value := range written {
		if !strings.HasPrefix(key, labelPrefix) {
			kept[key] = value
		}
	}
	return kept
}

// reserved says whether a variable would say again what a flag says, at which
// etcd ends.
func reserved(e corev1.EnvVar) bool { return etcd.ReservedVariable(e.Name) }

func (d *desired) container(name, version string, policy etcdv1beta2.PodPolicy) corev1.Container {
	env := []corev1.EnvVar{
		{Name: "INITIAL_CLUSTER", ValueFrom: annotation(AnnotationCluster)},
		{Name: "INITIAL_CLUSTER_STATE", ValueFrom: annotation(AnnotationState)},
	}
	return corev1.Container{
		Name: containerName, Image: d.image(version),
		Command: append([]string{"/usr/local/bin/etcd"}, d.arguments(name)...),
		Env:     append(env, slices.DeleteFunc(slices.Clone(policy.EtcdEnv), reserved)...),
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: clientPort}, {Name: "peer", ContainerPort: peerPort}, {Name: "metrics", ContainerPort: metricsPort},
		},
		Resources:    policy.Resources,
		VolumeMounts: []corev1.VolumeMount{{Name: dataVolume, MountPath: dataFolder}},
		// A member that loads a large store is not dead.
		StartupProbe:   probe("/livez", 2, 900),
		LivenessProbe:  probe("/livez", 10, 6),
		ReadinessProbe: probe("/readyz", 2, 3),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		// What etcd said last is told in the cluster's status.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// arguments are etcd's flags.
func (d *desired) arguments(name string) []string {
	a := d.addresses
	return append([]string{
		"--name=" + name,
		"--data-dir=" + dataFolder + "/data",
		"--initial-advertise-peer-urls=" + a.peerURL(name),
		"--listen-peer-urls=" + scheme(a.peerTLS) + "://0.0.0.0:2380",
		"--advertise-client-urls=" + a.clientURL(name),
		"--listen-client-urls=" + scheme(a.clientTLS) + "://0.0.0.0:2379",
		"--listen-metrics-urls=http://0.0.0.0:2381",
		"--initial-cluster=$(INITIAL_CLUSTER)",
		"--initial-cluster-state=$(INITIAL_CLUSTER_STATE)",
		"--initial-cluster-token=" + string(d.cluster.UID),
	}, d.tls.arguments()...)
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

// podSecurity is what the manifest says, and where it says nothing the
// restricted Pod Security Standard.
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

// affinity keeps members on nodes of their own: where it can, or, as the
// manifest asks, always.
func affinity(cluster string, policy etcdv1beta2.PodPolicy) *corev1.Affinity {
	if policy.Affinity != nil {
		return policy.Affinity
	}
	apart := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: labelsOf(cluster)},
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
