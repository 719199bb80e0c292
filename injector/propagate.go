package injector

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A Propagated has the changes for the opt-in keys on a workload's own
// metadata.
type Propagated struct {
	Patch    podjson.Patch
	Warnings []string
	// Unchanged is true if the UPDATE changed neither the opt-in keys nor the pod
	// template: then usher copies nothing, because that would cause a rollout that
	// the user did not ask for.
	Unchanged bool
}

// workload is the part of a workload that PropagateOptIn reads.
type workload struct {
	Metadata struct {
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Controller bool `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

// PropagateOptIn copies the opt-in keys on a workload's own metadata, where users write
// them by mistake, into its pod template, from which pods get their
// annotations. old is the object before an UPDATE, nil on CREATE. It never
// changes objects with a controller, because the controller would revert the
// change.
func PropagateOptIn(kind string, object, old []byte) (Propagated, *finding.Finding) {
	var w workload
	if err := json.Unmarshal(object, &w); err != nil {
		field, detail := podjson.DecodeProblem(err)
		return Propagated{}, new(finding.Denial(reason.Undecodable, field, detail))
	}
	for _, owner := range w.Metadata.OwnerReferences {
		if owner.Controller {
			return Propagated{}, nil
		}
	}
	keys := usherKeys(w.Metadata.Annotations)
	if len(keys) > maxKeys {
		return Propagated{}, tooManyKeys(len(keys))
	}
	if len(old) > 0 && unchanged(kind, w, object, old) {
		return Propagated{Unchanged: true}, nil
	}
	have, exists, path, problem := podjson.TemplateAnnotations(kind, object)
	if problem != nil || len(path) == 0 {
		return Propagated{}, problem
	}
	var before map[string]string
	if len(old) > 0 {
		// An unreadable old object does not tell which keys the user wrote.
		before, _, _, _ = podjson.TemplateAnnotations(kind, old)
	}
	c := &propagation{have: have, before: before, path: strings.Join(path, ".") + ".metadata.annotations"}
	if len(old) == 0 && len(keys) == 0 && len(usherKeys(have)) == 0 {
		return Propagated{}, nil // the API server does not send objects without one of usher's keys
	}
	c.propagated, c.propagatedBefore = propagatedKeys(have), propagatedKeys(before)
	for _, k := range keys {
		c.follow(k.key, w.Metadata.Annotations[k.key])
	}
	for _, key := range propagatedKeys(have) {
		if _, ok := w.Metadata.Annotations[key]; ok {
			continue
		}
		if len(old) > 0 {
			c.withdraw(key)
		} else {
			c.disown(key) // a new object has no carried keys, so the user wrote this one
		}
	}
	return Propagated{Patch: c.patch(exists).Under(podjson.Pointer(path)), Warnings: c.warnings}, nil
}

// unchanged compares the relevant parts of a workload before and after an
// UPDATE.
func unchanged(kind string, w workload, object, old []byte) bool {
	var before workload
	if json.Unmarshal(old, &before) != nil || !maps.Equal(usherAnnotations(w), usherAnnotations(before)) {
		return false
	}
	is, _, problem := podjson.Template(kind, object)
	was, _, oldProblem := podjson.Template(kind, old)
	if problem != nil || oldProblem != nil {
		return false
	}
	is, was = is.Clone(), was.Clone()
	return is.Canonicalize() == nil && was.Canonicalize() == nil && bytes.Equal(is, was)
}

func usherAnnotations(w workload) map[string]string {
	ours := map[string]string{}
	for _, k := range usherKeys(w.Metadata.Annotations) {
		ours[k.key] = w.Metadata.Annotations[k.key]
	}
	return ours
}

// propagatedKeys lists the opt-in keys that the template records as copied. Anyone
// can write the list, so usher never removes other keys in it.
func propagatedKeys(annotations map[string]string) []string {
	var keys []string
	for key := range strings.SplitSeq(annotations[wellknown.AnnotationCarried], ",") {
		key = strings.TrimSpace(key)
		if _, _, ours := template.CutKey(key); ours && len(keys) < maxKeys {
			keys = append(keys, key)
		}
	}
	return keys
}

// propagation computes the changes to one template's annotations.
type propagation struct {
	have, before     map[string]string
	propagated       []string
	propagatedBefore []string
	set              []podjson.Pair
	removed          []string
	warnings         []string
	path             string
}

// changedByUser reports whether the user has changed a copied key in the template
// since.
func (c *propagation) changedByUser(key string) bool {
	was, known := c.before[key]
	now, set := c.have[key]
	return known && set && was != now && slices.Contains(c.propagatedBefore, key)
}

// follow copies a key of the workload's metadata into the template.
func (c *propagation) follow(key, value string) {
	now, set := c.have[key]
	ours := slices.Contains(c.propagated, key)
	switch {
	case set && ours && c.changedByUser(key):
		c.disown(key)
	case set && !ours:
		if now != value {
			c.warnings = append(c.warnings, fmt.Sprintf("annotation %s is %s on the workload's own metadata and %s in its pod template (%s); the pod template wins",
				key, finding.Quote(value), finding.Quote(now), c.path))
		}
		return
	case !set || now != value:
		c.set = append(c.set, podjson.Pair{Key: key, Value: value})
		if !ours {
			c.propagated = append(c.propagated, key)
		}
	default:
		return
	}
	if slices.Contains(c.propagated, key) {
		c.warnings = append(c.warnings, fmt.Sprintf("annotation %s is on the workload's own metadata, which pods do not inherit; it was copied to %s: write it there", key, c.path))
	}
}

// withdraw removes a copied key from the template once its source is gone.
func (c *propagation) withdraw(key string) {
	if _, set := c.have[key]; set && !c.changedByUser(key) {
		c.removed = append(c.removed, key)
		c.warnings = append(c.warnings, fmt.Sprintf("annotation %s was removed from the workload's own metadata, and so from %s, to which it had been copied", key, c.path))
	}
	c.disown(key)
}

func (c *propagation) disown(key string) {
	c.propagated = slices.DeleteFunc(c.propagated, func(k string) bool { return k == key })
}

func (c *propagation) patch(metadata bool) podjson.Patch {
	slices.Sort(c.propagated)
	list := strings.Join(c.propagated, ",")
	if was, set := c.have[wellknown.AnnotationCarried]; list != was {
		if list != "" {
			c.set = append(c.set, podjson.Pair{Key: wellknown.AnnotationCarried, Value: list})
		} else if set {
			c.removed = append(c.removed, wellknown.AnnotationCarried)
		}
	}
	var patch podjson.Patch
	if !metadata && len(c.set) > 0 {
		patch = append(patch, podjson.Operation{Op: "add", Path: "/metadata", Value: []byte("{}")})
	}
	patch = podjson.AppendMap(patch, "/metadata/annotations", c.have, c.set)
	for _, key := range c.removed {
		patch = append(patch, podjson.Operation{Op: "remove", Path: "/metadata/annotations/" + podjson.Escape(key)})
	}
	return patch
}
