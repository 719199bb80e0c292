package injector

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

// selectionSets is how many random sets of templates a test tries; more with the
// build tag soak.
var selectionSets = uint64(2000)

// TestSelection_RandomTemplates tries templates whose matches and labels feed
// each other, on pods that ask for some of them. The decision selects what the
// rounds select, whatever the templates are called, and the same templates on
// the object as sent, in a reinvocation, in the check after all mutations, on
// UPDATE, and for drift, also with a label that another webhook adds in between.
func TestSelection_RandomTemplates(t *testing.T) {
	admitted, chains, repaired := 0, 0, 0
	for seed := range selectionSets {
		s := newSelectionScene(t, rand.New(rand.NewPCG(seed, 7)))
		s.check(t)
		admitted, chains, repaired = admitted+s.admitted, chains+s.chains, repaired+s.repaired
		if t.Failed() {
			t.Fatalf("seed %d\n%s\npod %s\nnamespace %v", seed, s, s.request.Object, s.request.NamespaceLabels)
		}
	}
	t.Logf("%d of %d pods were admitted, %d with a template that another one selected; in %d a label of another webhook selected more", admitted, selectionSets, chains, repaired)
	if most := int(selectionSets); admitted < most/4 || chains < most/20 || repaired < most/200 {
		t.Error("too few to prove anything")
	}
}

// A selectionScene is a set of templates and a pod.
type selectionScene struct {
	*rand.Rand
	templates []sceneTemplate
	request   Request

	admitted, chains, repaired int
}

// A sceneTemplate is a template with what the test's own rounds need.
type sceneTemplate struct {
	name      string
	labels    map[string]string
	match     *metav1.LabelSelector // nil without a match
	mandatory bool
}

func (s sceneTemplate) String() string {
	b, _ := json.Marshal(s.match)
	return fmt.Sprintf("%s: gives %v, selects %s, mandatory %v", s.name, s.labels, b, s.mandatory)
}

func (s *selectionScene) String() string {
	var lines []string
	for _, t := range s.templates {
		lines = append(lines, t.String())
	}
	return strings.Join(lines, "\n")
}

const sceneKeys = 5

func newSelectionScene(t *testing.T, r *rand.Rand) *selectionScene {
	t.Helper()
	s := &selectionScene{Rand: r}
	values := []string{"a", "b"}[:1+s.IntN(2)] // with one value nothing conflicts
	pick := func() (key, value string) { return fmt.Sprintf("k%d", s.IntN(sceneKeys)), values[s.IntN(len(values))] }
	for i := range 1 + s.IntN(6) {
		tpl := sceneTemplate{name: fmt.Sprintf("t%d", i), labels: map[string]string{}, mandatory: s.IntN(3) == 0}
		for range s.IntN(3) {
			key, value := pick()
			tpl.labels[key] = value
		}
		if s.IntN(5) > 0 {
			tpl.match = &metav1.LabelSelector{}
			for range s.IntN(4) {
				key, value := pick()
				req := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}
				switch s.IntN(5) {
				case 0:
					req.Operator, req.Values = metav1.LabelSelectorOpExists, nil
				case 1, 2:
					req.Operator, req.Values = metav1.LabelSelectorOpDoesNotExist, nil
				case 3:
					req.Operator = metav1.LabelSelectorOpNotIn
				}
				tpl.match.MatchExpressions = append(tpl.match.MatchExpressions, req)
			}
		}
		s.templates = append(s.templates, tpl)
	}
	notes, own := map[string]string{}, map[string]string{"app": "web"}
	for _, tpl := range s.templates {
		if s.IntN(4) == 0 {
			notes[wellknown.InjectPrefix+tpl.name] = []string{"true", "true", "false"}[s.IntN(3)]
		}
	}
	for range s.IntN(3) {
		key, value := pick()
		own[key] = value
	}
	pod := map[string]any{
		"metadata": map[string]any{"name": "p", "labels": own, "annotations": notes},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app:1"}}, "hostNetwork": s.IntN(8) == 0},
	}
	s.request = Request{Object: encode(t, pod), Kind: "Pod", Namespace: "team", Templates: s.set(t, nil)}
	if s.IntN(4) == 0 {
		s.request.NamespaceLabels = map[string]string{wellknown.LabelTemplates: s.templates[s.IntN(len(s.templates))].name}
	}
	return s
}

// set returns the scene's templates, with other names if there are any.
func (s *selectionScene) set(t *testing.T, names map[string]string) *Set {
	t.Helper()
	var list []*template.Template
	for _, tpl := range s.templates {
		name := tpl.name
		if names != nil {
			name = names[name]
		}
		// The container has the same name whatever the template's is.
		config := map[string]any{"containers": []any{map[string]any{"name": "c-" + tpl.name, "image": "i:" + tpl.name}}, "labels": tpl.labels}
		options := map[string]any{"mandatory": tpl.mandatory}
		if tpl.match != nil {
			options["match"] = map[string]any{"podSelector": tpl.match}
		}
		list = append(list, mustParse(t, name, string(encode(t, config)), string(encode(t, options))))
	}
	return set(list...)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rounds selects as the documents say, without the record: asked for is selected
// first, and every round sees what was selected before it.
func (s *selectionScene) rounds(t *testing.T) []string {
	t.Helper()
	own, notes := metadataOf(t, s.request.Object)
	selected := map[string]bool{}
	for _, tpl := range s.templates {
		switch notes[wellknown.InjectPrefix+tpl.name] {
		case "true":
			selected[tpl.name] = true
		case "":
			if s.request.NamespaceLabels[wellknown.LabelTemplates] == tpl.name {
				selected[tpl.name] = true
			}
		}
	}
	seen := maps.Clone(own)
	learn := func(names map[string]bool) {
		values := map[string][]string{}
		for _, tpl := range s.templates {
			if names[tpl.name] {
				for key, value := range tpl.labels {
					values[key] = append(values[key], value)
				}
			}
		}
		for key, given := range values {
			if _, set := seen[key]; !set {
				seen[key] = slices.Min(given)
			}
		}
	}
	learn(selected)
	for n := 0; ; n++ {
		if n > len(s.templates) {
			t.Errorf("%d rounds for %d templates", n, len(s.templates))
		}
		more := map[string]bool{}
		for _, tpl := range s.templates {
			if tpl.match == nil || selected[tpl.name] || notes[wellknown.InjectPrefix+tpl.name] == "false" {
				continue
			}
			if selector, _ := metav1.LabelSelectorAsSelector(tpl.match); selector.Matches(labels.Set(seen)) {
				more[tpl.name] = true
			}
		}
		if len(more) == 0 {
			return slices.Sorted(maps.Keys(selected))
		}
		maps.Copy(selected, more)
		learn(more)
	}
}

func metadataOf(t *testing.T, object []byte) (labels, annotations map[string]string) {
	t.Helper()
	var pod metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &pod); err != nil {
		t.Fatal(err)
	}
	return pod.Labels, pod.Annotations
}

// selected names the templates that a decision selects, whether or not the pod
// gets them.
func selected(d *decision.Decision) []string {
	names := []string{}
	for _, o := range d.Outcomes {
		if o.Template != "" && (o.Reason != reason.OptedOut || d.Denied) {
			names = append(names, o.Template)
		}
	}
	slices.Sort(names)
	return names
}

func (s *selectionScene) check(t *testing.T) {
	t.Helper()
	d := Decide(s.request)
	sent := selected(d)
	s.checkNames(t, d)
	if d.Denied {
		return
	}
	s.admitted++
	want := s.rounds(t)
	after := apply(t, s.request, d)
	has, notes := metadataOf(t, after)
	if extra := slices.DeleteFunc(slices.Clone(sent), func(name string) bool { return slices.Contains(want, name) }); len(extra) > 0 {
		for _, name := range extra {
			if tpl := s.named(name); !tpl.mandatory || !tpl.selects(has) {
				t.Errorf("%s is selected, and the rounds select %v", name, want)
			}
		}
	} else if diff := cmp.Diff(want, sent); len(want)+len(sent) > 0 && diff != "" {
		t.Errorf("selected (-rounds +decision):\n%s", diff)
	}
	if own, _ := metadataOf(t, s.request.Object); slices.ContainsFunc(sent, func(name string) bool {
		return notes[wellknown.InjectPrefix+name] == "" && !s.named(name).selects(own)
	}) {
		s.chains++
	}
	s.checkAfter(t, after, sent)
	s.checkForeign(t, after)
	s.checkRemoved(t, after)
}

// checkNames renames the templates by a random permutation.
func (s *selectionScene) checkNames(t *testing.T, d *decision.Decision) {
	t.Helper()
	names, back := map[string]string{}, map[string]string{}
	for i, n := range s.Perm(len(s.templates)) {
		names[s.templates[i].name] = fmt.Sprintf("x%d", n)
		back[fmt.Sprintf("x%d", n)] = s.templates[i].name
	}
	r := s.request
	r.Templates = s.set(t, names)
	text := string(r.Object)
	for was, is := range names {
		text = strings.ReplaceAll(text, `"`+wellknown.InjectPrefix+was+`"`, `"`+wellknown.InjectPrefix+is+`"`)
	}
	r.Object = []byte(text)
	if label := r.NamespaceLabels[wellknown.LabelTemplates]; label != "" {
		r.NamespaceLabels = map[string]string{wellknown.LabelTemplates: names[label]}
	}
	renamed := Decide(r)
	var got []string
	for _, name := range selected(renamed) {
		got = append(got, back[name])
	}
	slices.Sort(got)
	if diff := cmp.Diff(selected(d), got); len(got)+len(selected(d)) > 0 && diff != "" {
		t.Errorf("renaming %v changes the selection (-before +after):\n%s", names, diff)
	}
	if d.Denied != renamed.Denied {
		t.Errorf("renaming %v: denied is %v before (%s), %v after (%s)", names, d.Denied, d.Message(), renamed.Denied, renamed.Message())
	}
}

// checkAfter expects the same selection of the injected pod everywhere.
func (s *selectionScene) checkAfter(t *testing.T, after []byte, sent []string) {
	t.Helper()
	r := s.request
	r.Object = after
	again := Decide(r)
	if again.Denied || len(again.Patch) > 0 {
		t.Errorf("a reinvocation says %s (%s), patch %s", again.Reason, again.Message(), again.Patch.JSON())
	}
	if diff := cmp.Diff(sent, selected(again)); diff != "" {
		t.Errorf("selected in a reinvocation (-sent +again):\n%s", diff)
	}
	if held := VerifyMandatory(r); held.Denied {
		t.Errorf("the check after all mutations denies: %s", held.Message())
	}
	if held := VerifyUpdate(r, after); held.Denied {
		t.Errorf("an update without a change is denied: %s", held.Message())
	}
	labels, notes := metadataOf(t, after)
	asks := []string{}
	for _, sidecar := range Sidecars(notes, Subject{Labels: labels, NamespaceLabels: r.NamespaceLabels, Kind: func() string { return kindPod }}, r.Templates) {
		if sidecar.Source != "" || s.named(sidecar.Template).mandatory {
			asks = append(asks, sidecar.Template)
		}
	}
	if diff := cmp.Diff(sent, asks); diff != "" {
		t.Errorf("selected for drift (-sent +drift):\n%s", diff)
	}
	s.checkEarlier(t, r, labels)
}

// checkEarlier checks as releases did that evaluate matches only against the
// labels that a pod has: the pod has every mandatory template that these select.
func (s *selectionScene) checkEarlier(t *testing.T, r Request, has map[string]string) {
	t.Helper()
	_, notes := metadataOf(t, r.Object)
	record, _ := ParseRecord(notes)
	for _, tpl := range s.templates {
		if _, there := record[tpl.name]; tpl.mandatory && tpl.selects(has) && !there {
			t.Errorf("a replica of an earlier version denies the pod for %s", tpl)
		}
	}
}

// checkForeign adds a label as another webhook does, and injects again.
func (s *selectionScene) checkForeign(t *testing.T, after []byte) {
	t.Helper()
	labels, _ := metadataOf(t, after)
	key := fmt.Sprintf("k%d", s.IntN(sceneKeys))
	if _, set := labels[key]; set {
		return
	}
	r := s.request
	r.Object = relabelled(t, after, key, "a")
	again := Decide(r)
	if again.Denied {
		return
	}
	if len(again.Patch) > 0 {
		s.repaired++
	}
	s.checkAfter(t, apply(t, r, again), selected(again))
}

// checkRemoved removes a mandatory template's container, as another webhook
// might.
func (s *selectionScene) checkRemoved(t *testing.T, after []byte) {
	t.Helper()
	_, notes := metadataOf(t, after)
	record, _ := ParseRecord(notes)
	for _, tpl := range s.templates {
		if _, there := record[tpl.name]; !there || !tpl.mandatory {
			continue
		}
		r := s.request
		r.Object = withoutContainer(t, after, "c-"+tpl.name)
		if held := VerifyMandatory(r); !held.Denied {
			t.Errorf("a pod without the container of the mandatory template %s passes the check: %s", tpl.name, held.Reason)
		}
	}
}

func (s *selectionScene) named(name string) sceneTemplate {
	return s.templates[slices.IndexFunc(s.templates, func(t sceneTemplate) bool { return t.name == name })]
}

func (s sceneTemplate) selects(has map[string]string) bool {
	if s.match == nil {
		return false
	}
	selector, _ := metav1.LabelSelectorAsSelector(s.match)
	return selector.Matches(labels.Set(has))
}

func relabelled(t *testing.T, object []byte, key, value string) []byte {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal(object, &pod); err != nil {
		t.Fatal(err)
	}
	pod["metadata"].(map[string]any)["labels"].(map[string]any)[key] = value
	return encode(t, pod)
}

func withoutContainer(t *testing.T, object []byte, name string) []byte {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal(object, &pod); err != nil {
		t.Fatal(err)
	}
	spec := pod["spec"].(map[string]any)
	spec["containers"] = slices.DeleteFunc(spec["containers"].([]any), func(c any) bool { return c.(map[string]any)["name"] == name })
	return encode(t, pod)
}
