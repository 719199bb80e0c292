package podjson

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// A Pod is the part of a pod that a decision reads. The pod itself stays the
// original JSON, with fields that this build does not know.
type Pod struct {
	Metadata *Metadata `json:"metadata"`
	Spec     *Spec     `json:"spec"`
}

// Metadata is the part of an object's metadata that a decision reads.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// DeletionTimestamp is "" unless the object is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`

	// Absent says that the object has no metadata, which an addition creates.
	Absent bool `json:"-"`
}

// A Spec is the part of a pod's spec that a decision reads. Its lists are nil if
// the pod does not have them, or has null.
type Spec struct {
	RestartPolicy       string       `json:"restartPolicy"`
	HostNetwork         bool         `json:"hostNetwork"`
	Automount           *bool        `json:"automountServiceAccountToken"`
	OS                  *OS          `json:"os"`
	NodeSelector        NodeSelector `json:"nodeSelector"`
	Containers          []Container  `json:"containers"`
	InitContainers      []Container  `json:"initContainers"`
	EphemeralContainers []Container  `json:"ephemeralContainers"`
	Volumes             []Volume     `json:"volumes"`
	ImagePullSecrets    []PullSecret `json:"imagePullSecrets"`
	HostAliases         []HostAlias  `json:"hostAliases"`
}

// OS is the operating system that a pod names.
type OS struct {
	Name string `json:"name"`
}

// NodeSelector is the only relevant label of nodes.
type NodeSelector struct {
	OS string `json:"kubernetes.io/os"`
}

// Windows reports whether the pod runs on Windows, where a template's
// containers do not run. field is the field that selects it.
func (p *Pod) Windows() (field string, is bool) {
	switch {
	case p.Spec.OS != nil && p.Spec.OS.Name == string(corev1.Windows):
		return "spec.os.name", true
	case p.Spec.NodeSelector.OS == string(corev1.Windows):
		return "spec.nodeSelector[" + corev1.LabelOSStable + "]", true
	}
	return "", false
}

// A Container is a container in the view of a pod.
type Container struct {
	Name         string  `json:"name"`
	Ports        []Port  `json:"ports"`
	VolumeMounts []Mount `json:"volumeMounts"`

	// Origin is the template that added it, "" for the pod's own.
	Origin string `json:"-"`
}

// A Port is a port of a container.
type Port struct {
	ContainerPort int32  `json:"containerPort"`
	HostPort      int32  `json:"hostPort"`
	HostIP        string `json:"hostIP"`
	Protocol      string `json:"protocol"`
}

// A Mount is a volume mount of a container.
type Mount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// Volume keeps the source encoded: it is compared only if names match.
type Volume struct {
	Name string
	Raw  jsontext.Value

	// Origin is the template that added it, "" for the pod's own.
	Origin string `json:"-"`
}

// UnmarshalJSON keeps the volume encoded next to its name.
func (v *Volume) UnmarshalJSON(raw []byte) error {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	v.Name, v.Raw = named.Name, append(jsontext.Value(nil), raw...)
	return nil
}

// A PullSecret is a reference to a pull secret.
type PullSecret struct {
	Name string `json:"name"`
}

// A HostAlias is an entry of the hosts file.
type HostAlias struct {
	IP        string   `json:"ip"`
	Hostnames []string `json:"hostnames"`
}

// Decode decodes a pod, or a pod template, and may keep parts of its text. It
// returns a problem for a pod that the API server would refuse as well.
func Decode(raw []byte) (*Pod, *finding.Finding) {
	p, ok := read(raw)
	if !ok {
		p = &Pod{}
		if err := json.Unmarshal(raw, p); err != nil {
			field, detail := DecodeProblem(err)
			return nil, new(finding.Denial(reason.Undecodable, field, detail))
		}
	}
	if p.Spec == nil {
		return nil, new(finding.Denial(reason.Undecodable, "spec", "is missing"))
	}
	if len(p.Spec.Containers) == 0 {
		return nil, new(finding.Denial(reason.Undecodable, "spec.containers", "is empty; a pod needs at least one container of its own"))
	}
	return p, nil
}

// Labels returns the labels of the pod.
func (p *Pod) Labels() map[string]string {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Labels
}

// Annotations returns the annotations of the pod.
func (p *Pod) Annotations() map[string]string {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Annotations
}

// RunsToCompletion reports whether the pod ends by itself, as a Job's does: an ordinary
// sidecar would keep it from ending.
func (p *Pod) RunsToCompletion() bool {
	switch corev1.RestartPolicy(p.Spec.RestartPolicy) {
	case corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
		return true
	}
	return false
}

// AnnotationField is the path of an annotation of a pod.
func AnnotationField(key string) string { return "metadata.annotations[" + key + "]" }

// Deleted reports whether the pod is being deleted.
func (p *Pod) Deleted() bool { return p.Metadata != nil && p.Metadata.DeletionTimestamp != "" }

// MissingHostnames returns the names that the pod lacks for an address, and
// whether it has the address.
func (s *Spec) MissingHostnames(alias *corev1.HostAlias) (missing []string, known bool) {
	missing = slices.Clone(alias.Hostnames)
	for _, have := range s.HostAliases {
		if have.IP == alias.IP {
			known = true
			missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(have.Hostnames, name) })
		}
	}
	return missing, known
}
