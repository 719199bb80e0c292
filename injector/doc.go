// Package injector decides which templates a pod gets and how they are merged
// into it. Decisions are pure: the same request gives the same answer in the
// webhook, on the command line and in a test.
//
// The path of a decision, a step a file:
//
//	optin          who asked: the pod's annotations, then the namespace's label
//	match          whom the templates select by themselves
//	revision       which version of a template was picked
//	template       what is asked for, parsed strictly from its ConfigMap
//	record         what the pod claims to have, in its annotation
//	presence       what it has, by the record or because it is recognized
//	sidecar        ordinary container or native sidecar
//	override       what the pod may change of the template
//	mandatory      whether what it has of a mandatory template is as it has to be
//	conflict       what cannot be added, with both sides named
//	merge          what is added, on the raw JSON
//	appcontainers  what the pod's own containers get
//	patch          the additions as JSON Patch, and as a two-way merge patch
//
// # What a pod has already
//
// Other webhooks edit pods, backups restore them, and people copy them. So what
// is there is not added again:
//
//   - A record is believed when the containers and volumes that it names are in the
//     pod, whatever others changed in them. An entry that says it is of the
//     template's present content must name all of the template's containers. What it
//     says of the pod's own containers (appContainers) must hold, too.
//   - Without a record that is believed, a container is recognized by its name, the
//     last component of its image's repository, and one of ports, args, command and
//     mounts, or all that the template writes. The reason is already-present, with a
//     warning. A record is written where it says the truth: where a container is
//     added, or all of them hold all that the template writes. Volumes, labels and
//     annotations of recognized containers count by name.
//   - Only what is missing is added, and a container that is there as an ordinary one
//     is not added as a native sidecar. Anything else of the same name is a conflict;
//     where a record claims it, the reason is record-mismatch.
//
// A record names a template, and says by its content which revision it is of.
//
// Of a mandatory template the items that are there must be as the template has
// them, or as a version has them that was replaced less than ReplacedFor ago, less
// what the API server's defaulting and admission plugins write and less
// options.tolerate. Decide denies what differs, so that a replica of a later version
// denies it also while an earlier one's registration is in force. After all
// mutations Hold asks once more, when nothing can be added any more, and the record
// must say what the pod has. What it has for the pod's own containers each of them
// must have: the pod names none, and no record counts in which containers are the
// pod's own. HoldUpdate compares a pod with itself: what the old
// record names may not change, nor the record, and an edit of the template changes
// nothing for pods that run. Decisions in a namespace pinned to a version before
// v0.2 deny what that version denied: what was changed or is missing, not what was
// added, no update, and no refusal.
//
// Releases before v0.2 read these records and write them without the options; both
// read each other's.
//
// Networks that a pod declares take a path of their own (network), and so does
// the Network that a Deployment asks to have for itself (ownnetwork).
//
// A mutation only adds: no value the user wrote is removed, reordered or
// changed, and fields unknown to this build survive, because the user's JSON
// is never decoded into typed structs and written back.
package injector
