package injector

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/template"
)

// A Subject is what options.match selects by.
type Subject struct {
	// NamespaceLabels are the labels of the pod's namespace.
	NamespaceLabels map[string]string
	// Labels are the labels of the pod.
	Labels map[string]string
	// Kind returns the kind of the pod's controller; it is called only if needed.
	Kind func() string
	// Unproved is true if nothing proves the pod's controller: any author of a pod
	// can write an owner reference.
	Unproved bool

	// recognized reports whether the pod has all containers of a template that no
	// record names; nil if only the metadata is known.
	recognized func(*template.Template) bool
	// record is what the record names; empty if it is unreadable.
	record Record
	// ending names the mandatory templates that the labels select with which an
	// earlier attempt at the decision ended.
	ending []string
	// ended reports whether to stop before the next round; nil never does.
	ended func() bool
}

// choose adds the templates that select the pod by themselves.
//
// It works in rounds. Each round evaluates all matches against the pod's own
// labels and the labels of all templates selected before, and selects at least
// one template, so there are at most as many rounds as templates. The templates
// that the pod or its namespace asks for are selected before the first round. A
// selected template stays selected, and its labels count even if the pod cannot
// get it. The names of templates decide nothing.
func choose(asks []ask, annotations map[string]string, set *Set, s Subject) []ask {
	if len(set.Matches()) == 0 {
		return asks
	}
	r := revisions{annotations: annotations, namespace: s.NamespaceLabels[wellknown.LabelRevisions]}
	seen := &roundLabels{own: set.ownLabels(s.Labels, annotations[wellknown.AnnotationOwnLabels], s.record, s.recognized)}
	fresh := asks
	for round := 0; (round == 0 || len(fresh) > 0) && (s.ended == nil || !s.ended()); round++ {
		for i := range fresh {
			if !fresh[i].refused {
				seen.add(r.of(set, fresh[i].template), round)
			}
		}
		before := len(asks)
		asks = match(asks, set, func(t *template.Template) bool { return selects(t, s, seen) })
		fresh = asks[before:]
	}
	return match(asks, set, func(t *template.Template) bool { return keeps(t, s, seen.own) })
}

// match adds the templates with a match that selects, unless the pod asks for
// them or refuses them.
func match(asks []ask, set *Set, selected func(*template.Template) bool) []ask {
	for _, t := range set.Matches() {
		a := find(asks, t.Name)
		switch {
		case a == nil && selected(t):
			asks = append(asks, ask{template: t.Name, source: matchSource})
		case a != nil && a.refused && a.askedBy == "" && selected(t):
			a.askedBy = matchSource
		}
	}
	return asks
}

// selects reports whether a template's match selects the pod with some labels.
func selects(t *template.Template, s Subject, pod labels.Labels) bool {
	m := t.Options.Match
	return m != nil && m.Namespaces().Matches(labels.Set(s.NamespaceLabels)) && m.Pods().Matches(pod) && selectsController(t, s)
}

// keeps reports whether a template selects the pod although the rounds did not
// select it. A mandatory template also selects it by all labels that the pod has,
// or that it had after an earlier attempt at the decision: nobody escapes it with
// a record that usher did not write. A template that the record names also
// selects it by its own labels, which the pod may have had before: the record
// does not tell, and earlier versions did not write the annotation own-labels.
func keeps(t *template.Template, s Subject, own map[string]string) bool {
	if slices.Contains(s.ending, t.Name) {
		return true
	}
	if t.Options.Mandatory && len(own) != len(s.Labels) && selects(t, s, labels.Set(s.Labels)) {
		return true
	}
	if _, named := s.record[t.Name]; !named {
		return false
	}
	with := &roundLabels{own: own, added: map[string]addedLabel{}}
	for _, p := range t.Labels {
		if p.In(s.Labels) {
			with.added[p.Key] = addedLabel{value: p.Value}
		}
	}
	return selects(t, s, with)
}

// roundLabels are the labels that a round sees: the pod's own, and those of the
// templates selected before.
type roundLabels struct {
	own   map[string]string
	added map[string]addedLabel
}

// A addedLabel is a label of a template that was selected before a round.
type addedLabel struct {
	value string
	round int
}

// add adds the labels of a template that was selected before a round. Of two
// values the earlier one stays, and of two in one round the lesser one: no pod
// can have both templates.
func (l *roundLabels) add(t *template.Template, round int) {
	if t == nil {
		return // it cannot be used
	}
	for _, p := range t.FixedLabels() {
		if was, set := l.added[p.Key]; set && (was.round < round || was.value < p.Value) {
			continue
		}
		if l.added == nil {
			l.added = map[string]addedLabel{}
		}
		l.added[p.Key] = addedLabel{p.Value, round}
	}
}

// Lookup implements labels.Labels: the pod's own value wins.
func (l *roundLabels) Lookup(key string) (value string, exists bool) {
	if value, exists = l.own[key]; exists {
		return value, true
	}
	given, exists := l.added[key]
	return given.value, exists
}

// Has implements labels.Labels.
func (l *roundLabels) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get implements labels.Labels.
func (l *roundLabels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// revisions reads which revision of a template a pod gets.
type revisions struct {
	annotations map[string]string
	namespace   string // the value of wellknown.LabelRevisions
	picked      map[string]string
}

// of returns the template, or the selected revision of it; nil if it cannot be
// used.
func (r *revisions) of(set *Set, name string) *template.Template {
	revision, picks := r.annotations[wellknown.InjectPrefix+name+"."+template.RevisionKey]
	if !picks && r.namespace != "" {
		if r.picked == nil {
			r.picked, _ = template.PickedRevisions(r.namespace) // pickRevisions reports an invalid label
		}
		revision = r.picked[name]
	}
	known, _ := set.Get(template.RevisionName(name, revision))
	return known.Template
}

// addRecorded adds the mandatory templates that the record names and that
// nothing else asks for: what selected them may have changed since, but the pod
// is still held to them.
func addRecorded(asks []ask, record Record, set *Set) []ask {
	if len(record) == 0 || set == nil {
		return asks
	}
	for _, name := range set.mandatory {
		if _, named := record[name]; named && find(asks, name) == nil {
			asks = append(asks, ask{template: name, source: recordSource})
		}
	}
	return asks
}

// ending names the mandatory templates that the decision does not know of, or
// lets the pod refuse, and that select the pod with the labels with which the
// decision ends. Usually the rounds have selected them. But if a selected
// template is withheld, the pod lacks its labels, and a replica that looks only
// at the pod's labels, as earlier versions do, would deny the pod.
func (d *decider) ending() []string {
	r := &d.request
	if d.Denied || len(d.Outcomes) == 0 || d.merge == nil || r.Templates == nil || len(r.Templates.mandatory) == 0 {
		return nil
	}
	subject := r.subject(d.merge.pod)
	subject.Labels = maps.Clone(subject.Labels)
	if subject.Labels == nil {
		subject.Labels = map[string]string{}
	}
	for _, label := range d.merge.labels {
		subject.Labels[label.Key] = label.Value
	}
	var names []string
	for _, t := range r.Templates.Matches() {
		a := find(d.asks, t.Name)
		unknown := a == nil || a.refused && a.askedBy == ""
		if t.Options.Mandatory && unknown && selects(t, subject, labels.Set(subject.Labels)) {
			names = append(names, t.Name)
		}
	}
	return names
}
