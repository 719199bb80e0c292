package injector

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// Kinds of controllers that Kinds distinguishes.
const (
	kindPod        = "Pod"
	kindDeployment = "Deployment"
	kindReplicaSet = "ReplicaSet"
	kindJob        = "Job"
	kindCronJob    = "CronJob"
)

// PodTemplateHash is the label that marks the ReplicaSets of Deployments.
const PodTemplateHash = "pod-template-hash"

// A Creator is what a request's user proves about the owner references of a new
// pod, which any author of a pod can write.
type Creator int

const (
	// UnknownCreator means that no request shows a user, as on files: the pod's owner
	// is believed, and a warning says so if that decides about a mandatory template.
	UnknownCreator Creator = iota
	// ControllerCreator is a user that writes the owner references of its pods
	// truly.
	ControllerCreator
	// OtherCreator is any other user.
	OtherCreator
)

// Controllers are the users with which Kubernetes' own controllers create objects: a
// ServiceAccount each, or the user of kube-controller-manager if it runs without
// --use-service-account-credentials.
var Controllers = []string{
	"system:kube-controller-manager",
	"system:serviceaccount:kube-system:cronjob-controller",
	"system:serviceaccount:kube-system:daemon-set-controller",
	"system:serviceaccount:kube-system:deployment-controller",
	"system:serviceaccount:kube-system:job-controller",
	"system:serviceaccount:kube-system:replicaset-controller",
	"system:serviceaccount:kube-system:replication-controller",
	"system:serviceaccount:kube-system:statefulset-controller",
}

// KubeletPrefix begins the users of kubelets. A kubelet creates only the mirrors of
// its static pods, which its node owns (admission plugin NodeRestriction).
const KubeletPrefix = "system:node:"

// CreatorOf returns what a user proves; others are the controllers that prove as
// much as those of Kubernetes.
func CreatorOf(user string, others []string) Creator {
	if slices.Contains(Controllers, user) || slices.Contains(others, user) || strings.HasPrefix(user, KubeletPrefix) {
		return ControllerCreator
	}
	return OtherCreator
}

// selectsController reports whether the template's match selects a pod by its
// controller.
func selectsController(t *template.Template, s Subject) bool {
	kinds := t.Options.Match.Kinds
	return len(kinds) == 0 || slices.Contains(kinds, s.Kind()) || s.Unproved && t.DoubtsControllers()
}

// warnOfUnprovedController warns of each mandatory template that the pod does without because its
// owner is believed.
func (d *decider) warnOfUnprovedController(view *podjson.Pod) {
	r := &d.request
	if r.Creator != UnknownCreator || r.Kind != "" && r.Kind != kindPod {
		return
	}
	subject := r.subject(view)
	own := labels.Set(subject.Labels)
	for _, t := range r.Templates.Matches() {
		doubted := subject
		doubted.Unproved = true
		if t.DoubtsControllers() && find(d.asks, t.Name) == nil && !selects(t, subject, own) && selects(t, doubted, own) {
			d.Warn("metadata.ownerReferences of the pod is believed: the mandatory template %s selects the pod in a cluster, unless one of Kubernetes' controllers or of the configuration's controllers creates it", t.Name)
		}
	}
}

// ControllerKindOf returns the kind that options.match uses for a workload's pods: that
// of their controller.
func ControllerKindOf(kind string) string {
	if kind == kindCronJob {
		return kindJob
	}
	return kind
}

// ControllerKind returns the kind of a pod's controller, from its metadata.
func ControllerKind(podLabels map[string]string, owners []metav1.OwnerReference) string {
	for _, owner := range owners {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		if owner.Kind == kindReplicaSet && podLabels[PodTemplateHash] != "" {
			return kindDeployment
		}
		return ControllerKindOf(owner.Kind)
	}
	return kindPod
}

// subject returns the Subject of the request's object.
func (r *Request) subject(view *podjson.Pod) Subject {
	unproved := r.Creator == OtherCreator && (r.Kind == "" || r.Kind == kindPod)
	return Subject{NamespaceLabels: r.NamespaceLabels, Labels: view.Labels(), Unproved: unproved, Kind: func() string {
		if r.Kind != "" && r.Kind != kindPod {
			return ControllerKindOf(r.Kind)
		}
		var pod struct {
			Metadata struct {
				OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
			} `json:"metadata"`
		}
		_ = json.Unmarshal(r.Object, &pod) // an unreadable object has no controller
		return ControllerKind(view.Labels(), pod.Metadata.OwnerReferences)
	}}
}

// PodSubject returns the Subject of an existing pod, from its metadata and the
// labels of its namespace.
func PodSubject(pod metav1.Object, namespaceLabels map[string]string) Subject {
	return Subject{NamespaceLabels: namespaceLabels, Labels: pod.GetLabels(), Kind: func() string {
		return ControllerKind(pod.GetLabels(), pod.GetOwnerReferences())
	}}
}
