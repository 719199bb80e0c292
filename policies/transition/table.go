package transition

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// A Kind contains the transitions of one kind of object.
type Kind struct {
	// APIVersion and Kind are as in objects.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Kubernetes is true for a built-in kind: its rows say what Kubernetes does.
	Kubernetes bool `json:"-"`
	// Rows are tried in order; the first that applies classifies a change.
	Rows []Row `json:"rows"`
	// Defaults classify in order what no row does; the last resort is that
	// everything else is in place.
	Defaults []Default `json:"defaults"`
	// Assumes is what the rows assume of a manifest that has no status, as a clause.
	// Without it, a change is Unknown if a severe row depends on the status.
	Assumes string `json:"assumes,omitempty"`

	// Type is the Go type of the kind. It shows which fields are quantities, which
	// lists have keys, and what absence means.
	Type reflect.Type `json:"-"`

	// plan returns the plan of a change; nil if the kind has none.
	plan func(*FieldChange) *Plan

	schema   *node
	rows     []patterns // of Rows
	defaults []patterns // of Defaults
}

// A Table contains the transitions of many kinds. It is read-only once built
// and safe for concurrent use.
type Table struct {
	kinds []*Kind
	index map[string]*Kind
}

var rowID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// New builds a table. Contradictory rows are an error: a table is code, so the
// caller should treat that as a bug.
func New(kinds ...Kind) (*Table, error) {
	t := &Table{index: make(map[string]*Kind, len(kinds))}
	types := newTypes()
	seen := map[string]bool{}
	for i := range kinds {
		k := kinds[i]
		key := k.APIVersion + "/" + k.Kind
		if t.index[key] != nil {
			return nil, fmt.Errorf("kind %s is in the table twice", key)
		}
		for _, row := range k.Rows {
			if err := row.check(); err != nil {
				return nil, fmt.Errorf("row %q of %s: %w", row.ID, key, err)
			}
			if seen[row.ID] {
				return nil, fmt.Errorf("row %q is in the table twice", row.ID)
			}
			seen[row.ID] = true
			k.rows = append(k.rows, parsePatterns(row.Paths...))
		}
		for _, d := range k.Defaults {
			k.defaults = append(k.defaults, parsePatterns(d.Path))
		}
		if k.Type != nil {
			k.schema = types.of(k.Type)
		}
		t.kinds = append(t.kinds, &k)
		t.index[key] = &k
	}
	return t, nil
}

// Kinds returns the kinds in their original order.
func (t *Table) Kinds() []*Kind { return t.kinds }

// Kind returns the transitions of a kind, or nil.
func (t *Table) Kind(apiVersion, kind string) *Kind { return t.index[apiVersion+"/"+kind] }

// Row returns the row with that id and its kind, or nil.
func (t *Table) Row(id string) (*Kind, *Row) {
	for _, k := range t.kinds {
		for i := range k.Rows {
			if k.Rows[i].ID == id {
				return k, &k.Rows[i]
			}
		}
	}
	return nil, nil
}

// check reports why a row is invalid.
func (r *Row) check() error {
	switch {
	case !rowID.MatchString(r.ID):
		return fmt.Errorf("the id is not kebab-case")
	case r.Outcome.rank() < 0:
		return fmt.Errorf("no outcome %q", r.Outcome)
	case len(r.Paths) == 0:
		return fmt.Errorf("no path")
	case r.When == "":
		return fmt.Errorf("no condition in words")
	case r.Outcome.AtLeast(InSteps) && r.Harm == "":
		return fmt.Errorf("outcome %q without harm", r.Outcome)
	case (r.Outcome == InSteps || r.Outcome == Recreate || r.Outcome == Refused) && len(r.Steps) == 0:
		return fmt.Errorf("outcome %q without steps", r.Outcome)
	case r.RefusedBy == Server && r.Level != finding.Invariant:
		return fmt.Errorf("the API server refuses it, so its level is %q, not %q", finding.Invariant, r.Level)
	case (r.Level == finding.Off) != (r.RefusedBy == ""):
		return fmt.Errorf("level %q, refused by %q: one wants the other", r.Level, r.RefusedBy)
	case r.RefusedBy == Usher && r.Release == release.Version{}:
		return errors.New("usher refuses it, so it needs the version of usher that does so first (Release)")
	case r.Since != "":
		if _, err := ParseVersion(r.Since); err != nil {
			return err
		}
	}
	return nil
}

// A Version is a Kubernetes version; the zero value is the newest known.
type Version struct{ Major, Minor int }

// ParseVersion parses versions such as "1.36" and "v1.36.3".
func ParseVersion(s string) (Version, error) {
	var v Version
	if n, _ := fmt.Sscanf(strings.TrimPrefix(s, "v"), "%d.%d", &v.Major, &v.Minor); n != 2 {
		return Version{}, fmt.Errorf("%q is not a Kubernetes version such as 1.36", s)
	}
	return v, nil
}

// has reports whether a server of this version has what came with since.
func (v Version) has(since string) bool {
	if since == "" || v == (Version{}) {
		return true
	}
	s, err := ParseVersion(since)
	return err == nil && (v.Major > s.Major || v.Major == s.Major && v.Minor >= s.Minor)
}
