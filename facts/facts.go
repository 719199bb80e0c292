// Package facts makes usher's decisions: it gathers what a verdict depends on,
// judges, and reads again what the verdict rests on if that may be out of date.
//
// Where the facts come from is a [Source]: informers (facts/cluster), a kubeconfig
// (facts/kubeconfig), or files (cli/files). Nothing else calls [verdict.Judge], so
// every surface takes the same decision for the same facts.
package facts

import (
	"context"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/verdict"
)

// A Request asks for a verdict about an object.
type Request struct {
	Object verdict.Object
	// Old is the existing object; nil on CREATE.
	Old *verdict.Object
	// Steps are the steps of the verdict to take. A source leaves out those for
	// which it cannot have the facts.
	Steps verdict.Steps
	// Scaled is true if the request was about a Scale of the object.
	Scaled bool
	// User is the user of the request; "" if no request shows one.
	User string
	// Lenient reports whether findings of rules never deny in a namespace with
	// these levels; a nil Lenient never does.
	Lenient func(config.Namespace) bool
}

// A Source has the facts that verdicts depend on.
type Source interface {
	// Gather returns the facts about a request as they are at hand.
	Gather(ctx context.Context, r Request) (*verdict.Facts, error)
	// Renew reads again what a verdict rests on, and reports whether that changed
	// the facts. A source that reads every fact when it is asked returns false.
	Renew(ctx context.Context, r Request, known *verdict.Facts, n verdict.Need) (changed bool, err error)
}

// Judge decides about an object with the facts of a source. Before the verdict
// denies, or omits what was asked for, Judge renews each fact that it rests on,
// once, and judges again with what has changed.
func Judge(ctx context.Context, s Source, r Request) (*verdict.Verdict, error) {
	known, err := s.Gather(ctx, r)
	if err != nil {
		return nil, err
	}
	var renewed factSet
	for {
		v, err := verdict.Judge(ctx, r.Object, r.Old, known)
		if err != nil {
			return nil, err
		}
		changed, err := renew(ctx, s, r, known, v.Needs, &renewed)
		if err != nil {
			return nil, err
		}
		if !changed {
			return v, nil
		}
	}
}

// renew renews the facts that a verdict needs and that were not renewed before, in
// the order of the facts, until one has changed.
func renew(ctx context.Context, s Source, r Request, known *verdict.Facts, needs []verdict.Need, renewed *factSet) (changed bool, err error) {
	for fact := verdict.MandatoryTemplates; fact <= verdict.OtherObjects; fact++ {
		for _, n := range needs {
			if n.Fact != fact || !renewed.add(fact) {
				continue
			}
			if changed, err = s.Renew(ctx, r, known, n); changed || err != nil {
				return changed, err
			}
		}
	}
	return false, nil
}

// A factSet is a set of facts.
type factSet uint8

// add reports whether the fact is new to the set.
func (s *factSet) add(f verdict.Fact) bool {
	had := *s&(1<<f) != 0
	*s |= 1 << f
	return !had
}
