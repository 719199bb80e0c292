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
)

// A Carried describes the changes for the opt-in keys on a workload's own
// metadata.
type Carried struct {
	Patch    Patch
	Warnings []string
	// Unchanged is true if the UPDATE changed neither the opt-in keys nor the pod
	// template: then usher copies nothing, because that would cause a rollout that
	// the user did not ask for.
	Unchanged bool
}

// workload is the part of a workload that Carry reads.
type workload struct {
	Metadata struct {
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Controller bool `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

// Carry copies the opt-in keys on a workload's own metadata, where users write
// them by mistake, into its pod template, from which pods get their
// annotations. old is the object before an UPDATE, nil on CREATE. Carry never
// changes objects with a controller, because the controller would revert the
// change.
func Carry(kind string, object, old []byte) (Carried, *finding.Finding) {
	var w workload
	if err := json.Unmarshal(object, &w); err != nil {
		field, detail := decodeProblem(err)
		return Carried{}, new(finding.Denial(reason.Undecodable, field, detail))
	}
	for _, owner := range w.Metadata.OwnerReferences {
		if owner.Controller {
			return Carried{}, nil
		}
	}
	keys := usherKeys(w.Metadata.Annotations)
	if len(keys) > maxKeys {
		return Carried{}, tooManyKeys(len(keys))
	}
	if len(old) > 0 && unchanged(kind, w, object, old) {
		return Carried{Unchanged: true}, nil
	}
	have, exists, path, problem := templateAnnotations(kind, object)
	if problem != nil || len(path) == 0 {
		return Carried{}, problem
	}
	var before map[string]string
	if len(old) > 0 {
		// An unreadable old object does not tell which keys the user wrote.
		before, _, _, _ = templateAnnotations(kind, old)
	}
	c := &carrier{have: have, before: before, path: strings.Join(path, ".") + ".metadata.annotations"}
	if len(old) == 0 && len(keys) == 0 && len(usherKeys(have)) == 0 {
		return Carried{}, nil // the API server does not send objects without one of usher's keys
	}
	c.carried, c.carriedBefore = carriedKeys(have), carriedKeys(before)
	for _, k := range keys {
		c.follow(k.key, w.Metadata.Annotations[k.key])
	}
	for _, key := range carriedKeys(have) {
		if _, ok := w.Metadata.Annotations[key]; ok {
			continue
		}
		if len(old) > 0 {
			c.withdraw(key)
		} else {
			c.disown(key) // a new object has no carried keys, so the user wrote this one
		}
	}
	return Carried{Patch: c.patch(exists).under(pointer(path)), Warnings: c.warnings}, nil
}

// unchanged compares the relevant parts of a workload before and after an
// UPDATE.
func unchanged(kind string, w workload, object, old []byte) bool {
	var before workload
	if json.Unmarshal(old, &before) != nil || !maps.Equal(usherAnnotations(w), usherAnnotations(before)) {
		return false
	}
	is, _, problem := podTemplate(kind, object)
	was, _, oldProblem := podTemplate(kind, old)
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

// templateAnnotations reads the annotations of a workload's pod template.
// exists is true if the template has metadata.
func templateAnnotations(kind string, object []byte) (annotations map[string]string, exists bool, path []string, problem *finding.Finding) {
	raw, path, problem := podTemplate(kind, object)
	if problem != nil {
		return nil, false, nil, problem
	}
	var template struct {
		Metadata *podMeta `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &template); err != nil {
		field, detail := decodeProblem(err)
		return nil, false, nil, new(finding.Denial(reason.Undecodable, strings.Join(path, ".")+"."+field, detail))
	}
	if template.Metadata == nil {
		return nil, false, path, nil
	}
	return template.Metadata.Annotations, true, path, nil
}

// carriedKeys lists the opt-in keys that the template records as copied. Anyone
// can write the list, so usher never removes other keys in it.
func carriedKeys(annotations map[string]string) []string {
	var keys []string
	for key := range strings.SplitSeq(annotations[wellknown.AnnotationCarried], ",") {
		key = strings.TrimSpace(key)
		if _, _, ours := cutKey(key); ours && len(keys) < maxKeys {
			keys = append(keys, key)
		}
	}
	return keys
}

// carrier computes the changes to one template's annotations.
type carrier struct {
	have, before  map[string]string
	carried       []string
	carriedBefore []string
	set           []pair
	removed       []string
	warnings      []string
	path          string
}

// wrote reports whether the user has changed a copied key in the template
// since.
func (c *carrier) wrote(key string) bool {
	was, known := c.before[key]
	now, set := c.have[key]
	return known && set && was != now && slices.Contains(c.carriedBefore, key)
}

// follow copies a key of the workload's metadata into the template.
func (c *carrier) follow(key, value string) {
	now, set := c.have[key]
	ours := slices.Contains(c.carried, key)
	switch {
	case set && ours && c.wrote(key):
		c.disown(key)
	case set && !ours:
		if now != value {
			c.warnings = append(c.warnings, fmt.Sprintf("annotation %s is %s on the workload's own metadata and %s in its pod template (%s); the pod template wins",
				key, quote(value), quote(now), c.path))
		}
		return
	case !set || now != value:
		c.set = append(c.set, pair{key, value})
		if !ours {
			c.carried = append(c.carried, key)
		}
	default:
		return
	}
	if slices.Contains(c.carried, key) {
		c.warnings = append(c.warnings, fmt.Sprintf("annotation %s is on the workload's own metadata, which pods do not inherit; it was copied to %s: write it there", key, c.path))
	}
}

// withdraw removes a copied key from the template once its source is gone.
func (c *carrier) withdraw(key string) {
	if _, set := c.have[key]; set && !c.wrote(key) {
		c.removed = append(c.removed, key)
		c.warnings = append(c.warnings, fmt.Sprintf("annotation %s was removed from the workload's own metadata, and so from %s, to which it had been copied", key, c.path))
	}
	c.disown(key)
}

func (c *carrier) disown(key string) {
	c.carried = slices.DeleteFunc(c.carried, func(k string) bool { return k == key })
}

func (c *carrier) patch(metadata bool) Patch {
	slices.Sort(c.carried)
	list := strings.Join(c.carried, ",")
	if was, set := c.have[wellknown.AnnotationCarried]; list != was {
		if list != "" {
			c.set = append(c.set, pair{wellknown.AnnotationCarried, list})
		} else if set {
			c.removed = append(c.removed, wellknown.AnnotationCarried)
		}
	}
	var patch Patch
	if !metadata && len(c.set) > 0 {
		patch = append(patch, Operation{Op: "add", Path: "/metadata", Value: []byte("{}")})
	}
	patch = appendMap(patch, "/metadata/annotations", c.have, c.set)
	for _, key := range c.removed {
		patch = append(patch, Operation{Op: "remove", Path: "/metadata/annotations/" + escape(key)})
	}
	return patch
}
