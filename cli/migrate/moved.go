package migrate

import (
	"slices"
	"strings"
)

// A move describes the current place of a resource whose API version is no
// longer served. Webhook rules for the old version match nothing.
type move struct {
	group, versions, resources string // separated by spaces
	toGroup, toVersion         string
	gone                       string // without a successor: what to use today
}

// moves lists what the API servers of the InitializerConfiguration's time (1.7
// to 1.13) served and those of 1.30 do not, from Kubernetes' deprecated API
// migration guide.
var moves = []move{
	{group: "extensions", versions: "v1beta1", resources: "daemonsets deployments replicasets", toGroup: "apps", toVersion: "v1"},
	{group: "extensions", versions: "v1beta1", resources: "ingresses networkpolicies", toGroup: "networking.k8s.io", toVersion: "v1"},
	{group: "extensions", versions: "v1beta1", resources: "podsecuritypolicies", gone: "namespaces are labelled for Pod Security Admission"},
	{group: "apps", versions: "v1beta1", resources: "controllerrevisions deployments statefulsets", toGroup: "apps", toVersion: "v1"},
	{group: "apps", versions: "v1beta2", resources: "controllerrevisions daemonsets deployments replicasets statefulsets", toGroup: "apps", toVersion: "v1"},
	{group: "batch", versions: "v1beta1 v2alpha1", resources: "cronjobs", toGroup: "batch", toVersion: "v1"},
	{group: "autoscaling", versions: "v2beta1 v2beta2", resources: "horizontalpodautoscalers", toGroup: "autoscaling", toVersion: "v2"},
	{group: "policy", versions: "v1beta1", resources: "poddisruptionbudgets", toGroup: "policy", toVersion: "v1"},
	{group: "policy", versions: "v1beta1", resources: "podsecuritypolicies", gone: "namespaces are labelled for Pod Security Admission"},
	{group: "networking.k8s.io", versions: "v1beta1", resources: "ingresses", toGroup: "networking.k8s.io", toVersion: "v1"},
	{group: "rbac.authorization.k8s.io", versions: "v1alpha1 v1beta1", resources: "clusterrolebindings clusterroles rolebindings roles", toGroup: "rbac.authorization.k8s.io", toVersion: "v1"},
	{group: "storage.k8s.io", versions: "v1beta1", resources: "storageclasses volumeattachments", toGroup: "storage.k8s.io", toVersion: "v1"},
	{group: "storage.k8s.io", versions: "v1alpha1", resources: "volumeattachments", toGroup: "storage.k8s.io", toVersion: "v1"},
	{group: "scheduling.k8s.io", versions: "v1alpha1 v1beta1", resources: "priorityclasses", toGroup: "scheduling.k8s.io", toVersion: "v1"},
	{group: "coordination.k8s.io", versions: "v1beta1", resources: "leases", toGroup: "coordination.k8s.io", toVersion: "v1"},
	{group: "events.k8s.io", versions: "v1beta1", resources: "events", toGroup: "events.k8s.io", toVersion: "v1"},
	{group: "certificates.k8s.io", versions: "v1beta1", resources: "certificatesigningrequests", toGroup: "certificates.k8s.io", toVersion: "v1"},
	{group: "apiextensions.k8s.io", versions: "v1beta1", resources: "customresourcedefinitions", toGroup: "apiextensions.k8s.io", toVersion: "v1"},
	{group: "apiregistration.k8s.io", versions: "v1beta1", resources: "apiservices", toGroup: "apiregistration.k8s.io", toVersion: "v1"},
	{group: "authentication.k8s.io", versions: "v1beta1", resources: "tokenreviews", toGroup: "authentication.k8s.io", toVersion: "v1"},
	{group: "authorization.k8s.io", versions: "v1beta1", resources: "localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews", toGroup: "authorization.k8s.io", toVersion: "v1"},
	{group: "settings.k8s.io", versions: "v1alpha1", resources: "podpresets", gone: "use a mutating webhook or a template of usher to add what they added"},
	{group: Group, versions: "v1alpha1", resources: "externaladmissionhookconfigurations initializerconfigurations", gone: "the API server calls no webhooks for webhook configurations"},
	{group: Group, versions: "v1beta1", resources: "mutatingwebhookconfigurations validatingwebhookconfigurations", gone: "the API server calls no webhooks for webhook configurations"},
}

const wildcard = "*"

// dead lists the versions in which nothing is served any more; "" is a group
// without any version left.
var dead = map[string]string{
	"extensions":                "",
	"settings.k8s.io":           "",
	"apps":                      "v1beta1 v1beta2",
	"autoscaling":               "v2beta1 v2beta2",
	"batch":                     "v1beta1 v2alpha1",
	"policy":                    "v1beta1",
	"rbac.authorization.k8s.io": "v1alpha1 v1beta1",
}

// A target is one combination of a rule's lists.
type target struct {
	group, version, resource string
}

// groupVersion formats the group and version; the core group has no name.
func (t target) groupVersion() string {
	if t.group == "" {
		return t.version
	}
	return t.group + "/" + t.version
}

// An arrival is the current place of a target, or of a part of one with
// wildcards.
type arrival struct {
	from, to target
	gone     string // as in move
}

// isDead reports whether nothing is served in the target's group and version.
func (t target) isDead() bool {
	return groupIsDead(t.group) || slices.Contains(strings.Fields(dead[t.group]), t.version)
}

func groupIsDead(group string) bool {
	versions, ok := dead[group]
	return ok && versions == ""
}

// arrivals returns the current places of the target; none if it has not moved.
func (t target) arrivals() []arrival {
	var found []arrival
	for _, m := range moves {
		if t.group != m.group && t.group != wildcard {
			continue
		}
		for version := range strings.FieldsSeq(m.versions) {
			for resource := range strings.FieldsSeq(m.resources) {
				if !t.names(m, version, resource) {
					continue
				}
				a := arrival{from: target{m.group, version, resource}, to: target{m.toGroup, m.toVersion, resource}, gone: m.gone}
				if t.version == wildcard {
					a.from.version, a.to.version = wildcard, wildcard
				}
				found = append(found, a)
			}
		}
	}
	return found
}

// names reports whether the target names the resource and only the old version.
// If it names every version, it includes a new version of the same group.
func (t target) names(m move, version, resource string) bool {
	if t.resource != resource && t.resource != wildcard {
		return false
	}
	if t.version != wildcard {
		return t.version == version
	}
	return t.group != wildcard && (groupIsDead(m.group) || m.gone != "" && t.resource == resource)
}
