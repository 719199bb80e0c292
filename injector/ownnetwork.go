package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// OwnNetworkKey is an annotation of a Deployment, or a label of its namespace:
// "true" asks for a Network of the Deployment's name, for it alone. On a
// namespace it is a label, because selectors match no annotations.
const OwnNetworkKey = samplecrdv1.GroupName + "/own-network"

// OwnNetworkCondition is the condition of a Deployment that says how far its
// own Network is.
const OwnNetworkCondition = "OwnNetwork"

// The reasons of OwnNetworkCondition.
const (
	OwnNetworkMade    = "NetworkMade"      // it is there, for this Deployment
	OwnNetworkNoPool  = "PoolNotSet"       // the configuration has no pool
	OwnNetworkPool    = "PoolExhausted"    // every part of the pool is taken
	OwnNetworkForeign = "NetworkForeign"   // another Network has its name
	OwnNetworkGoing   = "NetworkIsDeleted" // one of its name is on its way out
)

// Coming is what pods of a Deployment are told of its own Network while that is
// not there, by the Deployment's condition: its reason and message, "" where
// there is none yet.
func Coming(condition, message string) Network {
	switch condition {
	case OwnNetworkNoPool, OwnNetworkPool:
		return Network{Reason: reason.NetworkPool, Detail: "cannot be made: " + message}
	case OwnNetworkForeign:
		return Network{Reason: reason.NetworkForeign, Detail: "cannot be made: " + message}
	}
	return Network{Reason: reason.NetworkCreating, Detail: "is the Deployment's own and is being created"}
}

// An Own is what becomes of a Deployment that may ask for its own Network.
type Own struct {
	// Asked says that it asks, and Begins that it did not before.
	Asked, Begins bool
	// Network is the name of the Network.
	Network string
	// Patch declares it in the pod template; empty where it is declared, or
	// where nothing is to be changed.
	Patch    Patch
	Warnings []string
}

// OwnNetwork declares a Deployment's own Network in its pod template, and
// writes on the Deployment what its namespace's label asked for it: from then
// on the Deployment speaks for itself. old is the object before an UPDATE, nil
// on CREATE: on UPDATE something is changed only where the Deployment begins to
// ask, or its template lost what was declared there, because a rollout comes of
// it.
func OwnNetwork(object, old []byte, namespaceLabels map[string]string) (Own, *finding.Finding) {
	w, problem := readDeployment(object)
	if problem != nil {
		return Own{}, problem
	}
	asks, byNamespace, problem := w.asksForNetwork(namespaceLabels, len(old) == 0)
	if problem != nil || !asks {
		return Own{}, problem
	}
	own := Own{Asked: true, Begins: len(old) == 0, Network: w.Metadata.Name}
	switch {
	case slices.ContainsFunc(w.Metadata.OwnerReferences, func(o ownerReference) bool { return o.Controller }):
		return Own{Warnings: []string{fmt.Sprintf("annotation %s is not heard: the Deployment has a controller, which would undo what it brings", OwnNetworkKey)}}, nil
	case own.Network == "":
		return Own{}, new(finding.Denial(reason.BadValue, "metadata.name", "is not set, and its own Network has the Deployment's name: write one instead of generateName"))
	}
	if len(old) > 0 {
		before, problem := readDeployment(old)
		asked, _, _ := before.asksForNetwork(nil, false)
		if problem != nil || asked && !slices.Contains(before.networks(), own.Network) {
			return own, nil // as it was left
		}
		own.Begins = !asked
	}
	names, problem := declared(w.annotations())
	if problem != nil {
		problem.Field = "spec.template." + problem.Field
		return Own{}, problem
	}
	own.Patch = w.declare(names, byNamespace)
	return own, nil
}

// Foreign is the problem of a Deployment that asks for its own Network where
// one of its name was not made for it.
func Foreign(namespace, name string) finding.Finding {
	return finding.Denial(reason.NetworkForeign, annotationField(OwnNetworkKey), fmt.Sprintf(
		"asks for a Network of the Deployment's name, and the Network %s/%s was not made for it: rename the Deployment, remove that Network, or declare it by %s in the pod template",
		namespace, name, NetworkAnnotation))
}

// deployment is what OwnNetwork reads of one.
type deployment struct {
	Metadata struct {
		Name            string            `json:"name"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []ownerReference  `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Metadata *podMeta `json:"metadata"`
		} `json:"template"`
	} `json:"spec"`
}

type ownerReference struct {
	Controller bool `json:"controller"`
}

func readDeployment(object []byte) (deployment, *finding.Finding) {
	var d deployment
	if err := json.Unmarshal(object, &d); err != nil {
		field, detail := decodeProblem(err)
		return deployment{}, new(finding.Denial(reason.Undecodable, field, detail))
	}
	return d, nil
}

func (d deployment) annotations() map[string]string {
	if d.Spec.Template.Metadata == nil {
		return nil
	}
	return d.Spec.Template.Metadata.Annotations
}

func (d deployment) networks() []string {
	names, _ := declared(d.annotations()) // what cannot be read declares nothing
	return names
}

// asksForNetwork reads the annotation, and for a new Deployment without one the
// namespace's label.
func (d deployment) asksForNetwork(labels map[string]string, create bool) (asks, byNamespace bool, _ *finding.Finding) {
	value, ok := d.Metadata.Annotations[OwnNetworkKey]
	field := annotationField(OwnNetworkKey)
	what := "is "
	if !ok && create {
		if value, ok = labels[OwnNetworkKey]; ok {
			byNamespace, field, what = true, "", "the namespace's label "+OwnNetworkKey+" is "
		}
	}
	switch {
	case !ok || value == "false":
		return false, false, nil
	case value != "true":
		return false, false, new(finding.Denial(reason.BadValue, field, what+quote(value)+`; write "true" or "false"`))
	}
	return true, byNamespace, nil
}

// declare adds the Deployment's name to what its template declares, and the
// annotation that its namespace speaks for.
func (d deployment) declare(names []string, byNamespace bool) Patch {
	var patch Patch
	if byNamespace {
		patch = appendMap(patch, "/metadata/annotations", d.Metadata.Annotations, []pair{{OwnNetworkKey, "true"}})
	}
	if slices.Contains(names, d.Metadata.Name) {
		return patch
	}
	if d.Spec.Template.Metadata == nil {
		patch = append(patch, Operation{"add", "/spec/template/metadata", []byte("{}")})
	}
	value := d.Metadata.Name
	if was := d.annotations()[NetworkAnnotation]; was != "" {
		value = strings.Join([]string{was, value}, ",")
	}
	return append(patch, appendMap(nil, "/metadata/annotations", d.annotations(), []pair{{NetworkAnnotation, value}}).under("/spec/template")...)
}
