// Package reason is the list of reason codes: why an object was injected,
// connected, denied or not changed.
package reason

import "strings"

// A Reason explains a decision in one word. The same word is the audit
// annotation, the metric label, the log field and the output of the command
// line.
type Reason string

// The reasons of admission. Users and dashboards rely on these words.
const (
	Injected             Reason = "injected"              // the template was added
	AlreadyInjected      Reason = "already-injected"      // what the record names is there, nothing to do
	AlreadyPresent       Reason = "already-present"       // no record, and the containers are recognized, nothing to add
	NotAsked             Reason = "not-asked"             // no annotation, no namespace label
	OptedOut             Reason = "opted-out"             // the annotation says "false"
	NamespaceExclude     Reason = "namespace-excluded"    // a system namespace, usher's own, or one that it does not serve
	HostNetwork          Reason = "host-network"          // on the host's network, which the template does not allow
	MatchSkipped         Reason = "match-skipped"         // only the template's own match selects the pod, which cannot have it
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
	ConflictHostAlias    Reason = "conflict-host-alias"   // a host name has another address
	RecordMismatch       Reason = "record-mismatch"       // the record does not fit the pod, or an update changes it
	MandatoryChanged     Reason = "mandatory-changed"     // an item of a mandatory template is not as the template has it
	NetworkAttached      Reason = "network-attached"      // what the pod declares was added to what Multus attaches
	NetworkPresent       Reason = "network-present"       // Multus attaches all of it already, nothing to do
	NetworkDeclared      Reason = "network-declared"      // a Deployment's own Network was declared in its pod template
	NetworkMissing       Reason = "network-missing"       // declared, and there is none of that name, or it is on its way out
	NetworkCreating      Reason = "network-creating"      // a Deployment's own Network, which is not there yet
	NetworkPool          Reason = "network-pool"          // a Deployment's own Network, for which no range of addresses is left
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
	// Text says what the reason means, its first sentence as a summary; Fix is
	// what to do, an imperative, if something can be done.
	Text, Fix string
}{
	{Injected, false, "The template was added to the pod. The annotation usher.dev/injected records its containers and its version.", ""},
	{AlreadyInjected, false, "The pod has everything that its record names, whatever others changed in it. usher changed nothing.", ""},
	{AlreadyPresent, false, "The pod has no record, and usher recognized the template's containers by name, by the last component of the image's repository, and by ports, args, command or mounts. Copied and restored pods look like this. usher did not add the containers again.", ""},
	{NotAsked, false, "Neither the pod nor its namespace asks for a template. Annotate the pod initializer.kubernetes.io/<template>: \"true\", or label the namespace inject.usher.dev/templates: <template>.", ""},
	{OptedOut, false, "An annotation of the pod says \"false\" for the template, which wins over the namespace's label. The pod is denied instead if the template does not let pods opt out, which is the default of mandatory templates.",
		"remove the annotation, or write `optOut: allow` into the template's options"},
	{NamespaceExclude, false, "usher does not change pods in kube-system, kube-public, kube-node-lease, its own namespace, and namespaces that its installation does not serve.", ""},
	{HostNetwork, false, "The pod is on the host network, where a sidecar's ports would be ports of the node. The pod is denied instead if the template is mandatory.",
		"write `hostNetwork: allow` into the template's options, or remove `hostNetwork: true` from the pod"},
	{MatchSkipped, false, "Only the template's own options.match selects the pod, and the pod cannot have the template: it has another container, volume, mount or port of the host in its place, or a parameter of the template has an invalid value. A pod that asks for the template with an annotation, or by its namespace's label, is denied instead.", ""},
	{NoNativeSidecars, false, "The pod ends by itself, and an ordinary sidecar would keep it from ending. Its restartPolicy is Never or OnFailure, and the cluster does not support native sidecars, or the template forbids them. The pod is denied instead if the template is mandatory.",
		"write `native: auto` into the template's options, or upgrade the nodes to Kubernetes 1.29 or later"},
	{Windows, false, "The pod runs on Windows, where the template's containers do not. Its spec.os.name or its node selector kubernetes.io/os says so. The pod is denied instead if the template is mandatory.",
		"write `optOut: allow` into the options of a mandatory template, and annotate the pod `inject.usher.dev/<template>: \"false\"`"},
	{TemplateValid, false, "The applied template is valid, or the templates that a namespace asks for exist.", ""},
	{ConfigurationValid, false, "The applied configuration of usher is valid.", ""},
	{ConfigurationInvalid, true, "The applied configuration of usher is invalid. The last valid configuration stays in force.",
		"run `usher check` on the ConfigMap, and correct the field that the message names"},
	{TemplateMissing, true, "The pod, or its namespace, asks for a template that does not exist. usher's namespace has no ConfigMap <template>-initializer, and none with the label usher.dev/template: <template>.",
		"create the ConfigMap `<template>-initializer` in `usher-system`, or correct the annotation"},
	{TemplateInvalid, true, "The template's ConfigMap is invalid.",
		"run `usher check` on the ConfigMap, which says what to write instead"},
	{BadValue, true, "A usher annotation on the pod has an invalid value. The message names the key and the value.",
		"write the value that the message names, such as `\"true\"` or `\"false\"`"},
	{ConflictName, true, "A container of the pod has the name of a container of the template.",
		"rename one of the containers"},
	{ConflictVolume, true, "A volume of the pod has the name of a volume of the template and another source.",
		"rename one of the volumes, or write the same source for both to share the volume"},
	{ConflictHostPort, true, "Two containers would take the same port of the host.",
		"change one `hostPort`, or remove it"},
	{ConflictMount, true, "A container would mount two volumes at the same path.",
		"change one `mountPath`"},
	{ConflictEnv, true, "A container of the pod sets a variable that the template's appContainers set to another value.",
		"write the same value for both, name the containers that get it in `inject.usher.dev/<template>.containers`, or write `onConflict: {env: {NAME: keep}}` into the template's options"},
	{ConflictMetadata, true, "The pod sets a label or annotation that the template sets to another value.",
		"remove the key from one of them, or write `onConflict: {labels: {KEY: keep}}` or `onConflict: {annotations: {KEY: keep}}` into the template's options"},
	{ConflictHostAlias, true, "The pod maps a host name to another address than the template does.",
		"remove the name from one of them, or write `onConflict: {hostAliases: {HOST: keep}}` into the template's options"},
	{RecordMismatch, true, "The annotation usher.dev/injected does not match the pod. It names containers that the pod does not have while others have their names, or an update changes the entry of a mandatory template.",
		"remove the annotation `usher.dev/injected` and the containers that it names from a new pod, and usher adds both; leave both as they are in an existing pod"},
	{MandatoryChanged, true, "A container, volume, label or annotation of a mandatory template differs from the template, or an update changes it.",
		"leave the template's items as they are, or write into the template's options what others may change, such as `tolerate: {image: {registries: [mirror.example.com/team]}}`"},
	{NetworkAttached, false, "usher added the Networks in the annotation samplecrd.k8s.io/network to k8s.v1.cni.cncf.io/networks, from which Multus attaches the pod.", ""},
	{NetworkPresent, false, "The pod's k8s.v1.cni.cncf.io/networks has every Network that the pod declares. usher changed nothing.", ""},
	{NetworkDeclared, false, "The Deployment, or its namespace, asks for a Network of its own (samplecrd.k8s.io/own-network), and usher declared it in the pod template.", ""},
	{NetworkMissing, true, "The pod declares a Network that its namespace does not have, or that is being deleted.",
		"apply the Network, or correct its name in the annotation `samplecrd.k8s.io/network`"},
	{NetworkCreating, true, "The pod declares its Deployment's own Network, which is being created. The ReplicaSet retries until it exists; the condition OwnNetwork of the Deployment shows the progress.", ""},
	{NetworkPool, true, "The pod declares its Deployment's own Network, for which no range of addresses is left. The pool of usher's configuration is not set or exhausted.",
		"write a larger range into usher's configuration, such as `networks: {pool: 10.128.0.0/12}`"},
	{NetworkForeign, true, "The Deployment asks for a Network of its own, and a Network with its name exists that was not created for it.",
		"rename the Deployment, remove that Network, or declare it with the annotation `samplecrd.k8s.io/network`"},
	{NetworkBackend, true, "The pod declares a Network and cannot be attached to it. Its backend does not attach pods, or the pod is on the host network.",
		"remove `hostNetwork: true` from the pod, or declare a Network of another backend"},
	{PolicyClean, false, "The rules found nothing at the levels that the namespace or the configuration asks for.", ""},
	{PolicyWarned, false, "The rules found something that is not enforced, or that existed before this change. The warnings name the rule and the field.", ""},
	{PolicyDenied, true, "The rules found something at an enforced level. The message names the rule, the field and what to write. The annotations policy.usher.dev/exempt and policy.usher.dev/exempt-reason exempt an object if the configuration allows it.",
		"run `usher explain rule ID`, and correct the field"},
	{Undecodable, true, "A field that usher reads has the wrong type. usher cannot check the object, and the API server would refuse it as well.",
		"write a value of the field's type; quote a string that looks like a boolean or a number: `\"true\"`"},
	{TooLarge, true, "The request exceeds the size that usher reads, which is above what the API server stores.", ""},
}

// Has reports whether the pod has the template, or gets it.
func (r Reason) Has() bool {
	return r == Injected || r == AlreadyInjected || r == AlreadyPresent
}

// Denies reports whether the reason refuses the object. HostNetwork, Windows
// and NoNativeSidecars refuse it only if the template is mandatory, OptedOut
// only if pods cannot opt out of the template.
func (r Reason) Denies() bool {
	for _, e := range reasons {
		if e.Reason == r {
			return e.Denies
		}
	}
	return false
}

// Explain returns what the reason means and what to do, or "" for an unknown
// reason.
func (r Reason) Explain() string {
	text, fix := r.texts()
	if fix != "" {
		text += " " + strings.ToUpper(fix[:1]) + fix[1:] + "."
	}
	return text
}

// Summary returns the first sentence of what the reason means, without its full
// stop.
func (r Reason) Summary() string {
	text, _ := r.texts()
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// Fix returns what to do, as an imperative without a full stop, or "".
func (r Reason) Fix() string {
	_, fix := r.texts()
	return fix
}

func (r Reason) texts() (text, fix string) {
	for _, e := range reasons {
		if e.Reason == r {
			return e.Text, e.Fix
		}
	}
	return "", ""
}

// Rule returns the id with which the command line reports an object that
// injection denies for the reason.
func (r Reason) Rule() string { return "inject-" + string(r) }

// All lists every reason in the order of the documentation.
func All() []Reason {
	list := make([]Reason, len(reasons))
	for i, e := range reasons {
		list[i] = e.Reason
	}
	return list
}
