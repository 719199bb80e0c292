package injector

import (
	"fmt"
	"maps"
)

// Connect decides about the Networks of an object as it comes from a file: a
// Deployment's own is declared in its pod template, as the cluster does when
// the Deployment is admitted, and the pods are attached as they would be. The
// patch holds both. An error is a fault of usher's.
func Connect(r AttachRequest, namespaceLabels map[string]string) (*Decision, error) {
	if r.Kind != "Deployment" {
		return Attach(r), nil
	}
	own, problem := OwnNetwork(r.Object, nil, namespaceLabels)
	if problem != nil {
		return &Decision{Reason: problem.Reason, Denied: true, Problems: []Problem{*problem}, Outcomes: []Outcome{{Reason: problem.Reason}}}, nil
	}
	if own.Asked {
		r.Networks = maps.Clone(r.Networks)
		if r.Networks == nil {
			r.Networks = map[string]Network{}
		}
		if _, taken := r.Networks[own.Network]; taken {
			p := Foreign(r.Namespace, own.Network)
			return &Decision{Reason: p.Reason, Denied: true, Problems: []Problem{p}, Outcomes: []Outcome{{Reason: p.Reason, Network: own.Network}}}, nil
		}
		r.Networks[own.Network] = Network{} // the controller makes it
	}
	var err error
	if r.Object, err = own.Patch.Apply(r.Object); err != nil {
		return nil, fmt.Errorf("declaring the own Network: %w", err)
	}
	d := Attach(r)
	d.Warnings = append(own.Warnings, d.Warnings...)
	if !d.Denied {
		d.Patch = append(own.Patch, d.Patch...)
	}
	return d, nil
}

// Foreign is the problem of a Deployment that asks for its own Network where
// one of its name was not made for it.
func Foreign(namespace, name string) Problem {
	return Problem{NetworkForeign, annotationField(OwnNetworkKey), 0, fmt.Sprintf(
		"asks for a Network of the Deployment's name, and the Network %s/%s was not made for it: rename the Deployment, remove that Network, or declare it by %s in the pod template",
		namespace, name, NetworkAnnotation)}
}

// And is the decision about an object of which two were made, the other about
// what the first one left.
func (d *Decision) And(other *Decision) *Decision {
	if other.Reason == NotAsked || other.Reason == NamespaceExclude {
		d.Warnings = append(d.Warnings, other.Warnings...)
		return d
	}
	if d.Reason == NotAsked {
		other.Warnings = append(d.Warnings, other.Warnings...)
		return other
	}
	both := *d
	both.Problems = append(both.Problems, other.Problems...)
	both.Outcomes = append(both.Outcomes, other.Outcomes...)
	both.Warnings = append(both.Warnings, other.Warnings...)
	both.Steps = append(both.Steps, other.Steps...)
	both.Patch = append(both.Patch, other.Patch...)
	both.JSONOnly = d.JSONOnly || other.JSONOnly
	if !d.Denied && other.Denied {
		both.Denied, both.Reason = true, other.Reason
	}
	if both.Denied {
		both.Patch = nil
	}
	return &both
}
