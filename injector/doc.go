// Package injector decides which templates a pod gets and merges them into it.
// Decisions are pure: the same request gives the same answer in the webhook, on
// the command line and in a test.
//
// The steps of a decision, one per file or package:
//
//	podjson        read the pod's JSON; the additions as JSON Patch
//	template       parse the template strictly from its ConfigMap
//	decision       the namespaces, the reasons and the steps of a result
//	optin          read the pod's annotations, then the namespace's label
//	selection      find the templates that select the pod by themselves, in rounds
//	ownlabels      tell the pod's own labels from those that templates gave it
//	revision       select the revision of a template
//	parameters     find the values of a template's parameters, and fix them
//	record         read the record of earlier injections from the pod's annotation
//	precondition   check, in order, what rules a template out
//	presence       recognize the pod's containers that are a template's
//	compare        find what the pod has of each item of a template
//	conflict       name both sides of what cannot be added
//	require        judge the comparison with a mandatory template
//	keep           judge an update, which compares a pod with itself
//	unasked        let a pod that did not ask keep what it has
//	order          order the templates
//	merge          add to the raw JSON
//	appcontainers  add to the pod's own containers
//
// # What a pod has already
//
// Other webhooks edit pods, backups restore them, and people copy them. usher
// does not add again what a pod already has:
//
//   - usher relies on a record if the containers and volumes that it names are in
//     the pod, whatever others changed in them. An entry for the template's current
//     content must name all of the template's containers. The pod's own containers
//     must have what it says that they got (appContainers).
//   - Without such a record, usher recognizes a container by its name, the last
//     component of its image's repository, and one of ports, args, command and
//     mounts if the template writes any, or all that the template writes. The reason
//     is already-present, with a warning. A registry that flattens names joins the
//     end of the repository (team-side for team/side), and then one of the four
//     fields must be the template's. usher writes a record if it is true: if it
//     adds a container, or if all of them have all that the template writes. It
//     recognizes volumes, labels and annotations of recognized containers by name,
//     and if all containers are recognized, what appContainers added as well.
//   - usher adds only what is missing, and does not add an existing ordinary
//     container as a native sidecar. Any other item of the same name is a conflict;
//     if a record claims it, the reason is record-mismatch.
//
// A record names a template, and identifies its revision by the content hash.
//
// The pod's items of a mandatory template must match the template, or a version
// of it that was replaced less than ReplacedFor ago, except for changes by the
// API server's defaulting and admission plugins and for options.tolerate.
// Decide denies other differences, so that a replica of a later version denies
// them even while the registration of an earlier version is in force. After all
// mutations VerifyMandatory checks again, when nothing can be added any more, and the
// record must match the pod. Every one of the pod's own containers must have
// the template's appContainers: the pod cannot select containers, and the
// record does not decide which containers are the pod's own. VerifyUpdate
// compares a pod with itself: neither the items that the old record names, nor
// those that are recognizably the template's, nor the record may change, and an
// edit of the template does not affect running pods.
// Decisions in a namespace pinned to a version before v0.2 deny what that
// version denied: changed or missing items, but not additions, updates or
// opt-outs.
//
// Releases before v0.2 read these records, and write them without the options;
// each side reads the other's records.
//
// The package network decides about the Networks that a pod declares, and about
// a Deployment's own Network.
//
// A mutation only adds: it never removes, reorders or changes a value that the
// user wrote. The only exceptions are those for which the author of the template and
// that of the pod both ask: a value appended to a variable (options.onConflict). Fields unknown to this build survive, because usher never decodes
// the user's JSON into typed structs and writes it back.
package injector
