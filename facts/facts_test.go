package facts_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/verdict"
)

// template is the set with the template side, unless its text is "".
func templates(t testing.TB, options string) *injector.Set {
	t.Helper()
	parsed, err := template.Parse("side", map[string]string{
		template.ConfigKey: "containers: [{name: side, image: 'example.com/side:1'}]", template.OptionsKey: options,
	})
	if err != nil {
		t.Fatal(err)
	}
	return injector.NewSet(map[string]injector.Entry{"side": {Template: parsed}})
}

// A stale source has old facts at hand, and renews each to a new one.
type stale struct {
	now     verdict.World
	labels  map[string]string
	renewed []verdict.Need
	// renew changes the facts; nil renews nothing.
	renew func(known *verdict.Facts, n verdict.Need) (bool, error)
	err   error
}

func (s *stale) Gather(_ context.Context, r facts.Request) (*verdict.Facts, error) {
	return s.now.About(s.labels, r.Steps), s.err
}

func (s *stale) Renew(_ context.Context, _ facts.Request, known *verdict.Facts, n verdict.Need) (bool, error) {
	s.renewed = append(s.renewed, n)
	if s.renew == nil {
		return false, nil
	}
	return s.renew(known, n)
}

func pod(annotations string) verdict.Object {
	return verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: "team", Name: "p", JSON: []byte(
		`{"metadata":{"name":"p","annotations":{` + annotations + `}},"spec":{"containers":[{"name":"app","image":"app"}]}}`)}
}

const asks = `"inject.usher.dev/side":"true"`

func TestJudge(t *testing.T) {
	broken := errors.New("the API server does not answer")
	with, mandatory := templates(t, ""), templates(t, "mandatory: true")
	take := func(set *injector.Set) func(*verdict.Facts, verdict.Need) (bool, error) {
		return func(known *verdict.Facts, n verdict.Need) (bool, error) {
			if n.Fact == verdict.NamespaceLabels {
				return false, nil
			}
			world := *known.World
			world.Templates, known.World = set, &world
			return true, nil
		}
	}
	missing, replaced := verdict.Need{Fact: verdict.MissingTemplates, Names: []string{"side"}}, verdict.Need{Fact: verdict.ReplacedTemplates, Names: []string{"side"}}
	mandatories, labels := verdict.Need{Fact: verdict.MandatoryTemplates}, verdict.Need{Fact: verdict.NamespaceLabels}
	for name, tt := range map[string]struct {
		source  stale
		object  verdict.Object
		steps   verdict.Steps
		renewed []verdict.Need
		reason  reason.Reason
		err     error
	}{
		"what the verdict does not doubt is not renewed": {
			stale{now: verdict.World{Templates: with}}, pod(asks), verdict.Inject, nil, reason.Injected, nil},
		"a template that the source lacks": {
			stale{renew: take(with)}, pod(asks), verdict.Inject, []verdict.Need{missing}, reason.Injected, nil},
		"a template that does not exist": {
			stale{}, pod(asks), verdict.Inject, []verdict.Need{missing}, reason.TemplateMissing, nil},
		"a source that always says that something has changed": {
			stale{renew: func(*verdict.Facts, verdict.Need) (bool, error) { return true, nil }}, pod(asks), verdict.Inject, []verdict.Need{missing}, reason.TemplateMissing, nil},
		"a label that asks for a template that the source lacks, too": {
			stale{renew: func(known *verdict.Facts, n verdict.Need) (bool, error) {
				if n.Fact != verdict.NamespaceLabels {
					return take(with)(known, n)
				}
				known.NamespaceLabels = map[string]string{wellknown.LabelTemplates: "side"}
				return true, nil
			}}, pod(""), verdict.Inject, []verdict.Need{labels, missing}, reason.Injected, nil},
		"the facts are renewed in their order": {
			stale{}, pod(""), verdict.VerifyMandatory, []verdict.Need{mandatories, labels}, reason.NotAsked, nil},
		"a fact that has changed is judged before the next is renewed": {
			stale{labels: map[string]string{wellknown.LabelTemplates: "side"}, renew: take(mandatory)}, pod(""), verdict.VerifyMandatory,
			[]verdict.Need{mandatories, replaced}, reason.MandatoryChanged, nil},
		"a source that cannot gather": {
			stale{err: broken}, pod(asks), verdict.Inject, nil, "", broken},
		"a source that cannot renew": {
			stale{renew: func(*verdict.Facts, verdict.Need) (bool, error) { return false, broken }}, pod(asks), verdict.Inject, []verdict.Need{missing}, "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			tt.source.now.Configuration = config.Default()
			if tt.source.now.Templates == nil {
				tt.source.now.Templates = injector.NewSet(nil)
			}
			v, err := facts.Judge(t.Context(), &tt.source, facts.Request{Object: tt.object, Steps: tt.steps})
			if !errors.Is(err, tt.err) || (v == nil) != (tt.err != nil) {
				t.Fatalf("the error is %v, want %v; the verdict is %+v", err, tt.err, v)
			}
			if v != nil && v.Reason != tt.reason {
				t.Errorf("the reason is %s, want %s", v.Reason, tt.reason)
			}
			if diff := cmp.Diff(tt.renewed, tt.source.renewed); diff != "" {
				t.Errorf("renewed (-want +got):\n%s", diff)
			}
		})
	}
}

// A tree is the smallest source: facts that never change.
type tree struct{ world verdict.World }

func (s tree) Gather(_ context.Context, r facts.Request) (*verdict.Facts, error) {
	return s.world.About(nil, r.Steps), nil
}

func (tree) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}

func ExampleJudge() {
	side, err := template.Parse("side", map[string]string{template.ConfigKey: "containers: [{name: side, image: 'example.com/side:1'}]"})
	if err != nil {
		fmt.Println(err)
		return
	}
	source := tree{verdict.World{
		Configuration: config.Default(), NativeSidecars: true,
		Templates: injector.NewSet(map[string]injector.Entry{"side": {Template: side}}),
	}}
	v, err := facts.Judge(context.Background(), source, facts.Request{
		Object: verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: "team", Name: "web", JSON: []byte(
			`{"metadata":{"name":"web","annotations":{"inject.usher.dev/side":"true","inject.usher.dev/logs":"true"}},"spec":{"containers":[{"name":"app","image":"app:1"}]}}`)},
		Steps: verdict.Inject,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("denied:", v.Denied)
	for _, f := range v.Findings {
		fmt.Println(f.Statement())
	}
	// Output:
	// denied: true
	// annotation inject.usher.dev/logs asks for the template "logs", which does not exist; available templates: side
}
