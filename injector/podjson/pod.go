package injector

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// pod is the part of a pod that a decision reads. The pod itself stays the
// original JSON, with fields that this build does not know.
type pod struct {
	Metadata *podMeta `json:"metadata"`
	Spec     *podSpec `json:"spec"`
}

type podMeta struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// DeletionTimestamp is "" unless the object is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`

	absent bool
}

// podSpec's lists are nil if the pod does not have them, or has null.
type podSpec struct {
	RestartPolicy       string          `json:"restartPolicy"`
	HostNetwork         bool            `json:"hostNetwork"`
	Automount           *bool           `json:"automountServiceAccountToken"`
	OS                  *podOS          `json:"os"`
	NodeSelector        nodeSelector    `json:"nodeSelector"`
	Containers          []podContainer  `json:"containers"`
	InitContainers      []podContainer  `json:"initContainers"`
	EphemeralContainers []podContainer  `json:"ephemeralContainers"`
	Volumes             []podVolume     `json:"volumes"`
	ImagePullSecrets    []podPullSecret `json:"imagePullSecrets"`
	HostAliases         []podHostAlias  `json:"hostAliases"`
}

type podOS struct {
	Name string `json:"name"`
}

// nodeSelector is the only relevant label of nodes.
type nodeSelector struct {
	OS string `json:"kubernetes.io/os"`
}

// windows reports whether the pod runs on Windows, where a template's
// containers do not run. field is the field that selects it.
func (p *pod) windows() (field string, is bool) {
	switch {
	case p.Spec.OS != nil && p.Spec.OS.Name == string(corev1.Windows):
		return "spec.os.name", true
	case p.Spec.NodeSelector.OS == string(corev1.Windows):
		return "spec.nodeSelector[" + corev1.LabelOSStable + "]", true
	}
	return "", false
}

type podContainer struct {
	Name         string     `json:"name"`
	Ports        []podPort  `json:"ports"`
	VolumeMounts []podMount `json:"volumeMounts"`

	origin string // the template that added it, "" for the pod's own
}

type podPort struct {
	ContainerPort int32  `json:"containerPort"`
	HostPort      int32  `json:"hostPort"`
	HostIP        string `json:"hostIP"`
	Protocol      string `json:"protocol"`
}

type podMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// podVolume keeps the source encoded: it is compared only if names match.
type podVolume struct {
	Name string
	Raw  jsontext.Value

	origin string
}

func (v *podVolume) UnmarshalJSON(raw []byte) error {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	v.Name, v.Raw = named.Name, append(jsontext.Value(nil), raw...)
	return nil
}

type podPullSecret struct {
	Name string `json:"name"`
}

type podHostAlias struct {
	IP        string   `json:"ip"`
	Hostnames []string `json:"hostnames"`
}

// decodePod decodes a pod, or a pod template. It returns a problem for a pod
// that the API server would refuse as well.
func decodePod(raw []byte) (*pod, *finding.Finding) {
	p := &pod{}
	if err := json.Unmarshal(raw, p); err != nil {
		field, detail := decodeProblem(err)
		return nil, new(finding.Denial(reason.Undecodable, field, detail))
	}
	if p.Spec == nil {
		return nil, new(finding.Denial(reason.Undecodable, "spec", "is missing"))
	}
	if len(p.Spec.Containers) == 0 {
		return nil, new(finding.Denial(reason.Undecodable, "spec.containers", "is empty; a pod needs at least one container of its own"))
	}
	return p, nil
}

func (p *pod) labels() map[string]string {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Labels
}

func (p *pod) annotations() map[string]string {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Annotations
}

// ends reports whether the pod ends by itself, as a Job's does: an ordinary
// sidecar would keep it from ending.
func (p *pod) ends() bool {
	switch corev1.RestartPolicy(p.Spec.RestartPolicy) {
	case corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
		return true
	}
	return false
}

// annotationField is the path of an annotation of a pod.
func annotationField(key string) string { return "metadata.annotations[" + key + "]" }

// deleted reports whether the pod is being deleted.
func (p *pod) deleted() bool { return p.Metadata != nil && p.Metadata.DeletionTimestamp != "" }

// missingHostnames returns the names that the pod lacks for an address, and
// whether it has the address.
func (s *podSpec) missingHostnames(alias *corev1.HostAlias) (missing []string, known bool) {
	missing = slices.Clone(alias.Hostnames)
	for _, have := range s.HostAliases {
		if have.IP == alias.IP {
			known = true
			missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(have.Hostnames, name) })
		}
	}
	return missing, known
}
