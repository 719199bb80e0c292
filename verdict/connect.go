package verdict

import (
	"fmt"
	"maps"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/network"
)

// connect declares a Deployment's own Network in its pod template, and attaches
// the pods to the Networks that they declare.
func (j *judging) connect() error {
	if !j.step(Connect) || !j.holdsPods() {
		return nil
	}
	if !j.mayDeclare() {
		if j.object.Kind == "Deployment" {
			j.doubtOwnNetworkLabel()
		}
		return nil
	}
	networks := j.facts.Networks
	declared := false
	if j.object.Kind == "Deployment" {
		own, problem := network.DeclareOwn(j.object.JSON, j.oldJSON(), j.facts.NamespaceLabels)
		if problem == nil && own.Begins && j.facts.OwnNetworkTaken {
			foreign := network.Foreign(j.object.Namespace, own.Network)
			problem = &foreign
		}
		if problem != nil {
			j.Attachment = decision.Denial(*problem)
			j.problems(j.Attachment, Denies)
			j.need(Networks)
			return nil
		}
		j.warnings(own.Warnings)
		if err := j.change(own.Patch, true); err != nil {
			return fmt.Errorf("declaring the own Network: %w", err)
		}
		declared = len(own.Patch) > 0
		if own.Asked {
			// The controller creates it once the Deployment exists.
			if networks = maps.Clone(networks); networks == nil {
				networks = map[string]network.State{}
			}
			networks[own.Network] = network.State{}
		}
	}
	j.Attachment = network.Attach(network.AttachRequest{
		Object: j.object.JSON, Kind: j.object.Kind, Namespace: j.object.Namespace, NamespaceLabels: j.facts.NamespaceLabels, Scope: j.facts.Scope,
		Networks: networks, Backend: j.facts.Configuration.Networks.Backend, Explain: j.facts.Explain,
	})
	j.warnings(j.Attachment.Warnings)
	if j.Attachment.Denied {
		j.need(Networks)
	}
	switch {
	case j.Attachment.Denied && j.pod():
		j.problems(j.Attachment, Denies)
	case j.Attachment.Denied:
		j.problems(j.Attachment, DeniesPods)
	default:
		if err := j.change(j.Attachment.Patch, j.pod()); err != nil {
			return fmt.Errorf("attaching the %s: %w", j.object.Kind, err)
		}
	}
	if declared {
		j.Attachment.Reason = reason.NetworkDeclared
	}
	if j.Attachment.Reason == reason.NotAsked {
		j.doubtOwnNetworkLabel()
	}
	return nil
}

// doubtOwnNetworkLabel notes that a new object declares no Network as long as its
// namespace's label does not declare one for each Deployment. The API server sends
// only objects that declare one, so the label may be newer.
func (j *judging) doubtOwnNetworkLabel() {
	if j.old == nil && j.facts.NamespaceLabels[wellknown.OwnNetwork] == "" {
		j.need(NamespaceLabels)
	}
}

// mayDeclare reports whether the object could declare a Network, without
// decoding it. It may return true for an object that does not.
func (j *judging) mayDeclare() bool {
	return j.facts.Explain || j.facts.Verbose && j.facts.Scope.Excludes(j.object.Namespace, j.facts.NamespaceLabels) ||
		j.facts.NamespaceLabels[wellknown.OwnNetwork] != "" ||
		podjson.MayContain(j.object.JSON, samplecrdv1.GroupName)
}
