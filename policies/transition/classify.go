package transition

import (
	"cmp"

	"github.com/usher-dev/usher/finding"
)

// report classifies one change and adds it to the result.
func (w *walk) report(p *path, was, will any, unset bool) {
	w.changed = true
	w.found++
	m := w.change
	m.From, m.To, m.Unset = was, will, unset
	steps := p.steps()
	row, severe := w.classify(&m, steps)
	if severe != nil && (row == nil || !row.Outcome.AtLeast(Recreate)) {
		assumes := w.kind.Assumes
		if row != nil {
			assumes = cmp.Or(row.Assumes, assumes)
		}
		if assumes == "" {
			if w.keep(severe, &m, p) {
				w.diff.Changes[len(w.diff.Changes)-1].Outcome = Unknown
			}
			return
		}
		w.diff.Assumes = assumes
	}
	if row != nil {
		w.keep(row, &m, p)
		return
	}
	c := Change{Outcome: InPlace}
	for i, d := range w.kind.Defaults {
		if m.server.has(d.Since) && (d.Path == "." || w.kind.defaults[i].cover(steps)) {
			c = Change{Outcome: d.Outcome, RefusedBy: d.RefusedBy, Harm: d.Harm, Steps: w.diff.fill(d.Steps)}
			if d.RefusedBy == Server {
				c.Level = finding.Invariant
			}
			break
		}
	}
	if w.room("default " + string(c.Outcome)) {
		c.Path, c.From, c.To = p.String(), was, will
		w.diff.Changes = append(w.diff.Changes, c)
	}
}

// classify returns the first row that applies; nil if the defaults decide. severe
// is the first row from recreate on that may apply instead, because the manifest
// has no status.
func (w *walk) classify(m *FieldChange, steps []*path) (first, severe *Row) {
	for i := range w.kind.Rows {
		row := &w.kind.Rows[i]
		if !w.kind.rows[i].cover(steps) {
			continue
		}
		m.guessed = false
		holds := row.holds(m)
		switch {
		case holds && first == nil:
			first = row
		case (holds || m.guessed) && severe == nil && row.Outcome.AtLeast(Recreate):
			severe = row
		}
		if holds && !m.guessed {
			return first, severe
		}
	}
	return first, severe
}

// restored reports the removal of a mirrored field from a manifest: it has no
// effect, which the user should know.
func (w *walk) restored(p *path, was any) {
	w.found++
	if w.room("mirrored") {
		w.diff.Changes = append(w.diff.Changes, Change{
			Path: p.String(), From: was, To: was, Outcome: InPlace,
			Harm: "stays as it is: kubectl apply removes only this field, and the API server restores it from the deprecated field that holds a copy; set both fields to null",
		})
	}
}

// whole tries the rows about the whole object.
func (w *walk) whole() {
	for i := range w.kind.Rows {
		if row := &w.kind.Rows[i]; len(w.kind.rows[i]) == 0 && row.holds(&w.change) {
			w.keep(row, &w.change, nil)
		}
	}
}

func (r *Row) holds(m *FieldChange) bool {
	return m.server.has(r.Since) && (r.applies == nil || r.applies(m))
}

// keep adds the change to the result, if it has room.
func (w *walk) keep(row *Row, m *FieldChange, p *path) bool {
	if !w.room(row.ID) {
		return false
	}
	steps := row.Steps
	if row.lead != nil {
		if led := row.lead(m); len(led) > 0 {
			steps = led
		}
	}
	w.diff.Changes = append(w.diff.Changes, Change{
		Path: p.String(), From: m.From, To: m.To,
		Row: row.ID, Outcome: row.Outcome, RefusedBy: row.RefusedBy, Level: row.Level, Release: row.Release,
		Harm: row.Harm, Steps: w.diff.fill(steps),
	})
	return true
}

// room reports whether the result has room for another change of that row: it
// always has room for the first.
func (w *walk) room(id string) bool {
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	if len(w.diff.Changes) >= maxChanges && w.seen[id] {
		w.diff.Omitted++
		return false
	}
	w.seen[id] = true
	return true
}
