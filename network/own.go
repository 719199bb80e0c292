package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
)

// OwnCondition is the condition of a Deployment that reports the state
// of its own Network.
const OwnCondition = "OwnNetwork"

// The reasons of OwnCondition.
const (
	OwnMade    = "NetworkMade"      // it is there, for this Deployment
	OwnNoPool  = "PoolNotSet"       // the configuration has no pool
	OwnPool    = "PoolExhausted"    // every part of the pool is taken
	OwnForeign = "NetworkForeign"   // another Network has its name
	OwnGoing   = "NetworkIsDeleted" // one of its name is on its way out
)

// Coming is the Detail for pods of a Deployment whose own Network does not
// exist yet, from the Deployment's condition: its reason and message, or ""
// before the condition exists.
func Coming(condition, message string) State {
	switch condition {
	case OwnNoPool, OwnPool:
		return State{Reason: reason.NetworkPool, Detail: "cannot be created: " + message}
	case OwnForeign:
		return State{Reason: reason.NetworkForeign, Detail: "cannot be created: " + message}
	}
	return State{Reason: reason.NetworkCreating, Detail: "is the Deployment's own, and usher is creating it"}
}

// An Own is the decision about a Deployment that may ask for its own Network.
type Own struct {
	// Asked is true if the Deployment asks for it, and Begins if it did not
	// before.
	Asked, Begins bool
	// Network is the name of the Network.
	Network string
	// Patch declares the Network in the pod template; it is empty if the Network
	// is already declared, or nothing may change.
	Patch    podjson.Patch
	Warnings []string
}

// DeclareOwn declares a Deployment's own Network in its pod template, and
// copies a request of the namespace's label to the Deployment: from then on the
// Deployment's annotation decides. old is the object before an UPDATE, nil on
// CREATE. On UPDATE it changes the template only if the Deployment begins to
// ask, or its template lost the declaration, because a change causes a rollout.
func DeclareOwn(object, old []byte, namespaceLabels map[string]string) (Own, *finding.Finding) {
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
		return Own{Warnings: []string{fmt.Sprintf("annotation %s is ignored: the Deployment has a controller, which would revert the change", wellknown.OwnNetwork)}}, nil
	case own.Network == "":
		return Own{}, new(finding.Denial(reason.BadValue, "metadata.name", "is not set, and the Deployment's own Network needs its name: write name instead of generateName"))
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

// Foreign returns the problem of a Deployment that asks for its own Network
// while another Network with its name exists.
func Foreign(namespace, name string) finding.Finding {
	return finding.Denial(reason.NetworkForeign, podjson.AnnotationField(wellknown.OwnNetwork), fmt.Sprintf(
		"asks for a Network with the Deployment's name, and the Network %s/%s was not created for it: rename the Deployment, remove that Network, or declare it with %s in the pod template",
		namespace, name, wellknown.AnnotationNetwork))
}

// deployment is the part of a Deployment that OwnNetwork reads.
type deployment struct {
	Metadata struct {
		Name            string            `json:"name"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []ownerReference  `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Metadata *podjson.Metadata `json:"metadata"`
		} `json:"template"`
	} `json:"spec"`
}

type ownerReference struct {
	Controller bool `json:"controller"`
}

func readDeployment(object []byte) (deployment, *finding.Finding) {
	var d deployment
	if err := json.Unmarshal(object, &d); err != nil {
		field, detail := podjson.DecodeProblem(err)
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
	names, _ := declared(d.annotations()) // an unreadable annotation declares nothing
	return names
}

// asksForNetwork reads the annotation, and the namespace's label for a new
// Deployment without the annotation.
func (d deployment) asksForNetwork(labels map[string]string, create bool) (asks, byNamespace bool, _ *finding.Finding) {
	value, ok := d.Metadata.Annotations[wellknown.OwnNetwork]
	field := podjson.AnnotationField(wellknown.OwnNetwork)
	what := "is "
	if !ok && create {
		if value, ok = labels[wellknown.OwnNetwork]; ok {
			byNamespace, field, what = true, "", "the namespace's label "+wellknown.OwnNetwork+" is "
		}
	}
	switch {
	case !ok || value == "false":
		return false, false, nil
	case value != "true":
		return false, false, new(finding.Denial(reason.BadValue, field, what+finding.Quote(value)+`; write "true" or "false"`))
	}
	return true, byNamespace, nil
}

// declare adds the Deployment's name to the Networks that its template
// declares, and the annotation if the namespace's label asked for it.
func (d deployment) declare(names []string, byNamespace bool) podjson.Patch {
	var patch podjson.Patch
	if byNamespace {
		patch = podjson.AppendMap(patch, "/metadata/annotations", d.Metadata.Annotations, []podjson.Pair{{Key: wellknown.OwnNetwork, Value: "true"}})
	}
	if slices.Contains(names, d.Metadata.Name) {
		return patch
	}
	if d.Spec.Template.Metadata == nil {
		patch = append(patch, podjson.Add("/spec/template/metadata", []byte("{}")))
	}
	value := d.Metadata.Name
	if was := d.annotations()[wellknown.AnnotationNetwork]; was != "" {
		value = strings.Join([]string{was, value}, ",")
	}
	return append(patch, podjson.AppendMap(nil, "/metadata/annotations", d.annotations(), []podjson.Pair{{Key: wellknown.AnnotationNetwork, Value: value}}).Under("/spec/template")...)
}
