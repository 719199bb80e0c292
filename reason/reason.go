// Package reason is the list of reason codes: why an object was injected,
// connected, denied or left as it is.
package reason

// A Reason says in one word why a decision came out as it did. The same word
// is the audit annotation, the metric label, the log field and the output of
// the command line.
type Reason string

// The reasons of admission. Users and dashboards rely on these words.
const (
	Injected             Reason = "injected"              // the template was added
	AlreadyInjected      Reason = "already-injected"      // what the record names is there, nothing to do
	AlreadyPresent       Reason = "already-present"       // no record, and the containers are recognized, nothing to add
	NotAsked             Reason = "not-asked"             // no annotation, no namespace label
	OptedOut             Reason = "opted-out"             // the annotation says "false"
	NamespaceExclude     Reason = "namespace-excluded"    // a system namespace, or usher's own
	HostNetwork          Reason = "host-network"          // on the host's network, which the template does not allow
	NoNativeSidecars     Reason = "no-native-sidecars"    // the pod ends, and sidecars that end with it are not to be had
	Windows              Reason = "windows"               // the pod runs on Windows, the template's containers on Linux
	TemplateValid        Reason = "template-valid"        // the template that was applied, or is asked for by a namespace, can be used
	ConfigurationValid   Reason = "configuration-valid"   // the configuration that was applied can be used
	ConfigurationInvalid Reason = "configuration-invalid" // the configuration that was applied cannot be used
	TemplateMissing      Reason = "template-missing"      // asked for, and there is none of that name
	TemplateInvalid      Reason = "template-invalid"      // asked for, and what is there cannot be used
	BadValue             Reason = "bad-value"             // a key of usher's with a value it cannot have
	ConflictName         Reason = "conflict-container"    // a container's name is taken
	ConflictVolume       Reason = "conflict-volume"       // a volume's name is taken, with another source
	ConflictHostPort     Reason = "conflict-host-port"    // a port of the host is taken
	ConflictMount        Reason = "conflict-mount"        // two mounts at one path in one container
	ConflictEnv          Reason = "conflict-env"          // a variable of the pod's own container has another value
	ConflictMetadata     Reason = "conflict-metadata"     // a label or annotation is set to another value
	RecordMismatch       Reason = "record-mismatch"       // the record does not fit the pod, or an update changes it
	MandatoryChanged     Reason = "mandatory-changed"     // an item of a mandatory template is not as the template has it
	NetworkAttached      Reason = "network-attached"      // what the pod declares was added to what Multus attaches
	NetworkPresent       Reason = "network-present"       // Multus attaches all of it already, nothing to do
	NetworkDeclared      Reason = "network-declared"      // a Deployment's own Network was declared in its pod template
	NetworkMissing       Reason = "network-missing"       // declared, and there is none of that name, or it is on its way out
	NetworkCreating      Reason = "network-creating"      // a Deployment's own Network, which is not there yet
	NetworkPool          Reason = "network-pool"          // a Deployment's own Network, for which there is no range of addresses
	NetworkForeign       Reason = "network-foreign"       // a Deployment's own Network, whose name another has
	NetworkBackend       Reason = "network-backend"       // declared, and no pod of this kind can be attached
	PolicyClean          Reason = "policy-clean"          // no finding at a level that anyone asked for
	PolicyWarned         Reason = "policy-warned"         // findings, none of them at an enforced level
	PolicyDenied         Reason = "policy-denied"         // a finding at an enforced level
	Undecodable          Reason = "undecodable"           // what usher reads of the object is not of its type
	TooLarge             Reason = "too-large"             // over the size that usher reads
)

// reasons explains each reason, in the order of the documentation.
var reasons = []struct {
	Reason Reason
	Denies bool
	Text   string
}{
	{Injected, false, "The template was added to the pod. The annotation usher.dev/injected records what, and of which version."},
	{AlreadyInjected, false, "The pod carries everything that its record names, whatever others changed in it. Nothing was changed."},
	{AlreadyPresent, false, "No record says that usher added the containers, and they are recognizably the template's: by name, by the last component of the image's repository, and by ports, args, command or mounts. Copies and restores come like that. They were not added again."},
	{NotAsked, false, "Neither the pod nor its namespace asks for a template. Annotate the pod initializer.kubernetes.io/<template>: \"true\", or label the namespace inject.usher.dev/templates: <template>."},
	{OptedOut, false, "An annotation of the pod says \"false\" for the template, which wins over the namespace's label. Denied instead where the template does not let pods refuse it (options.optOut), as mandatory templates do not by default."},
	{NamespaceExclude, false, "kube-system, kube-public, kube-node-lease and usher's own namespace are never touched."},
	{HostNetwork, false, "The pod is on its node's network, where a sidecar's ports would be the node's. Set options.hostNetwork: allow in the template if that is meant. Denied instead where the template is mandatory."},
	{NoNativeSidecars, false, "The pod ends by itself (restartPolicy Never or OnFailure), an ordinary sidecar would keep it from ending, and native sidecars are not to be had on this cluster or not wanted by the template (options.native). Denied instead where the template is mandatory."},
	{Windows, false, "The pod runs on Windows (spec.os.name, or the node selector kubernetes.io/os), where the template's containers do not. Denied instead where the template is mandatory."},
	{TemplateValid, false, "A template that was applied was proved, or a namespace asks for templates that exist."},
	{ConfigurationValid, false, "usher's configuration that was applied can be used."},
	{ConfigurationInvalid, true, "usher's configuration that was applied cannot be used; the message names the field. The last valid one stays in force."},
	{TemplateMissing, true, "No ConfigMap <template>-initializer, and none labelled usher.dev/template: <template>, is in usher's namespace. Apply it, or correct the name."},
	{TemplateInvalid, true, "The template's ConfigMap is there and cannot be used; `usher check` on it says what to write instead."},
	{BadValue, true, "A key of usher's has a value it cannot have; the message names the key, the value and what to write."},
	{ConflictName, true, "A container of the pod has the name of one the template adds. Rename one of them."},
	{ConflictVolume, true, "A volume of the pod has the name of one the template adds and another source. Rename one, or give both the same source to share it."},
	{ConflictHostPort, true, "Two containers would take the same port of the host. Change or drop one hostPort."},
	{ConflictMount, true, "One container would mount two volumes at the same path."},
	{ConflictEnv, true, "A container of the pod sets a variable that the template's appContainers set to another value. Give both the same value, or name the containers that get it (inject.usher.dev/<template>.containers)."},
	{ConflictMetadata, true, "The pod sets a label or annotation that the template sets to another value. Remove it from one of them."},
	{RecordMismatch, true, "The annotation usher.dev/injected does not fit: it names containers that the pod does not have while others have their names, or an update changes what it says of a mandatory template. Remove the record and what it names from a new pod, usher adds both; leave it as it is on a pod that exists."},
	{MandatoryChanged, true, "A container, volume, label or annotation of a mandatory template is not as the template has it, or an update changes it. Let what changed it leave the template's items alone, or have the template list in options.tolerate what others may change."},
	{NetworkAttached, false, "The Networks that the annotation samplecrd.k8s.io/network names were added to k8s.v1.cni.cncf.io/networks, by which Multus attaches the pod."},
	{NetworkPresent, false, "The pod's k8s.v1.cni.cncf.io/networks has every Network that the pod declares. Nothing was changed."},
	{NetworkDeclared, false, "The Deployment, or its namespace, asks for a Network of its own (samplecrd.k8s.io/own-network), which was declared in its pod template."},
	{NetworkMissing, true, "The pod declares a Network that its namespace does not have, or that is being deleted. Apply it, or correct the name."},
	{NetworkCreating, true, "The pod declares its Deployment's own Network, which is being created. The ReplicaSet tries again until it is there; the condition OwnNetwork of the Deployment says how far it is."},
	{NetworkPool, true, "The pod declares its Deployment's own Network, for which there is no range of addresses: the pool of usher's configuration (networks.pool) is not set or exhausted."},
	{NetworkForeign, true, "The Deployment asks for a Network of its own, and one of its name is there that was not made for it. Rename the Deployment, remove that Network, or declare it with samplecrd.k8s.io/network instead."},
	{NetworkBackend, true, "The pod declares a Network and cannot be attached to one: its backend attaches no pods, or the pod is on its node's network."},
	{PolicyClean, false, "The rules find nothing at a level that the namespace or the configuration asks for."},
	{PolicyWarned, false, "The rules find something that is not enforced, or that was there before this change. The warnings name rule and field."},
	{PolicyDenied, true, "The rules find something at an enforced level. The message names rule, field and what to write; `usher explain rule ID` says more. policy.usher.dev/exempt with policy.usher.dev/exempt-reason lets an object off where the configuration allows it."},
	{Undecodable, true, "A field that usher reads is not of its type, so the object cannot be judged; the API server would refuse it as well."},
	{TooLarge, true, "The request is over the size that usher reads, which is above what the API server stores."},
}

// Has reports whether the reason is that of a template that the pod has, or gets.
func (r Reason) Has() bool {
	return r == Injected || r == AlreadyInjected || r == AlreadyPresent
}

// Denies says whether the reason refuses the object. HostNetwork, Windows and
// NoNativeSidecars refuse it only where the template is mandatory, OptedOut only
// where the template cannot be refused.
func (r Reason) Denies() bool {
	for _, e := range reasons {
		if e.Reason == r {
			return e.Denies
		}
	}
	return false
}

// Explain returns what the reason means and what to do, or "" for a word that
// is not a reason.
func (r Reason) Explain() string {
	for _, e := range reasons {
		if e.Reason == r {
			return e.Text
		}
	}
	return ""
}

// Rule is the id under which the command line reports an object that injection
// denies for the reason.
func (r Reason) Rule() string { return "inject-" + string(r) }

// All lists every reason in the order of the documentation.
func All() []Reason {
	list := make([]Reason, len(reasons))
	for i, e := range reasons {
		list[i] = e.Reason
	}
	return list
}
