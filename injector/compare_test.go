package injector

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-dev/usher/release"
)

// TestComparisonsDecideAlike decides by comparisons and without them about random
// templates, mandatory ones among them, and pods that others changed.
func TestComparisonsDecideAlike(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(comparedSeeds) {
		g := generator{rand.New(rand.NewPCG(seed, 11))}
		was := g.optional(t, g.templates(t))
		kind, object := g.object(was.Names())
		if g.IntN(3) == 0 {
			kind, object = "Pod", []byte(g.pod(was.Names()))
		}
		r := Request{Object: object, Kind: kind, Templates: was, NativeSidecars: g.coin(), NamespaceLabels: g.labels(was.Names()), Explain: g.coin()}
		if g.IntN(5) == 0 {
			r.Pin = release.V(0, 1)
		}
		first := alike(t, r, seen)
		if first.Denied {
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			continue
		}
		once := apply(t, r, first)
		for range 4 {
			again := r
			again.Object = g.tampered(t, kind, once)
			if g.IntN(3) == 0 {
				again.Object = g.tampered(t, kind, again.Object)
			}
			if g.IntN(3) == 0 {
				again.Templates, again.Now = g.editedTemplates(t, was)
			}
			alike(t, again, seen)
			updatesAlike(t, again, once, seen)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(seen)
}

func alike(t *testing.T, r Request, seen map[string]int) *Decision {
	t.Helper()
	with := decide(r, true)
	without := decide(r, false)
	same(t, "Decide", r, without, with)
	seen["Decide "+string(without.Reason)]++
	verify := func(compared bool) *Decision {
		d := &decision{ledger: ledger{explain: r.Explain}, request: r, verify: true, compared: compared}
		d.run()
		d.Patch = nil
		return d.summarize()
	}
	held := verify(false)
	same(t, "Hold", r, held, verify(true))
	seen["Hold "+string(held.Reason)]++
	return without
}

func updatesAlike(t *testing.T, r Request, old []byte, seen map[string]int) {
	t.Helper()
	update := func(compared bool) *Decision {
		d := &decision{ledger: ledger{explain: r.Explain}, request: r, verify: true, compared: compared}
		d.update(old)
		return d.summarize()
	}
	if r.Kind != "Pod" {
		return
	}
	for _, by := range [][2][]byte{{old, r.Object}, {r.Object, old}} {
		old, r.Object = by[0], by[1]
		d := update(false)
		same(t, "HoldUpdate", r, d, update(true))
		seen["HoldUpdate "+string(d.Reason)]++
	}
}

func same(t *testing.T, what string, r Request, without, with *Decision) {
	t.Helper()
	if diff := cmp.Diff(without, with, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-without +with):\n%s\non %s\nnamespace %v, native %v, now %v", what, diff, r.Object, r.NamespaceLabels, r.NativeSidecars, r.Now)
	}
}

// optional makes some templates mandatory.
func (g generator) optional(t *testing.T, s *Set) *Set {
	entries := map[string]Entry{}
	for _, name := range s.Names() {
		entry, _ := s.Get(name)
		if g.coin() {
			changed := *entry.Template
			changed.Options.Mandatory = true
			switch g.IntN(4) {
			case 0:
				changed.Options.Tolerate = Tolerate{unlimited: []Tolerance{TolerateLabels, TolerateImage}}
			case 1:
				changed.Options.Tolerate = Tolerate{unlimited: []Tolerance{TolerateEnv, TolerateAnnotations}}
			case 2:
				changed.Options.Tolerate = Tolerate{unlimited: []Tolerance{TolerateResources}}
			}
			entry.Template = &changed
		}
		entries[name] = entry
	}
	return NewSet(entries)
}

// editedTemplates replaces the templates.
func (g generator) editedTemplates(t *testing.T, was *Set) (*Set, time.Time) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	is := g.optional(t, g.templates(t))
	entries := map[string]Entry{}
	for _, name := range is.Names() {
		entry, _ := is.Get(name)
		if before, ok := was.Get(name); ok {
			entry.Replaced = []Replaced{{before.Template, now}}
			entry.Template.Options.Mandatory = before.Template.Options.Mandatory
		}
		entries[name] = entry
	}
	return NewSet(entries), now.Add(time.Second)
}

// tampered changes something in an injected pod.
func (g generator) tampered(t *testing.T, kind string, object []byte) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(object, &whole); err != nil {
		t.Fatal(err)
	}
	pod := whole
	for _, step := range templatePaths[kind] {
		pod = pod[step].(map[string]any)
	}
	spec := pod["spec"].(map[string]any)
	meta := at(pod, "metadata")
	notes, _ := meta["annotations"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	var containers []map[string]any
	for _, list := range []string{"containers", "initContainers"} {
		items, _ := spec[list].([]any)
		for _, c := range items {
			containers = append(containers, c.(map[string]any))
		}
	}
	c := containers[g.IntN(len(containers))]
	volumes, _ := spec["volumes"].([]any)
	switch g.IntN(20) {
	case 0, 1:
		delete(notes, RecordAnnotation)
	case 2:
		if record, ok := notes[RecordAnnotation].(string); ok {
			notes[RecordAnnotation] = strings.Replace(record, "sha256:", "sha256:0", 1)
		}
	case 3:
		if record, ok := notes[RecordAnnotation].(string); ok {
			name := g.one("envoy", "log", "agent")
			notes[RecordAnnotation] = strings.Replace(record, `"`+name+`-0"`, `"`+g.one("app", "gone", name+"-1")+`"`, 1)
		}
	case 4:
		c["image"] = g.one("i:envoy", "mirror/i:1", "other:1")
	case 5:
		c["env"] = append(listOf(c["env"]), map[string]any{"name": g.one("A", "C", "E_log", "X"), "value": g.one("1", "2", "3")})
	case 6:
		if env := listOf(c["env"]); len(env) > 0 {
			c["env"] = env[1:]
		}
	case 7:
		if mounts := listOf(c["volumeMounts"]); len(mounts) > 0 {
			c["volumeMounts"] = mounts[:len(mounts)-1]
		}
	case 8:
		c["ports"] = []any{map[string]any{"containerPort": 80 + g.IntN(3), "hostPort": g.IntN(3) * 40}}
	case 9:
		c["command"] = []any{"run"}
	case 10:
		c["name"] = g.one("envoy-0", "log-0", "agent-init", "other")
	case 11:
		if len(volumes) > 0 {
			volumes[g.IntN(len(volumes))] = map[string]any{"name": g.one("data", "log-conf", "envoy-app"), "hostPath": map[string]any{"path": "/x"}}
		}
	case 12:
		if len(volumes) > 0 {
			spec["volumes"] = volumes[1:]
		}
	case 13:
		for key := range labels {
			labels[key] = g.one("a", "b")
		}
	case 14:
		for key := range notes {
			if strings.HasPrefix(key, "x.y/") {
				notes[key] = g.one("a", "b")
			}
		}
	case 15:
		for key := range labels {
			delete(labels, key)
		}
	case 16:
		delete(spec, g.one("imagePullSecrets", "hostAliases", "volumes"))
	case 17:
		list := g.one("containers", "initContainers")
		if items := listOf(spec[list]); len(items) > 1 {
			spec[list] = items[:len(items)-1]
		}
	case 18: // an ordinary container becomes an init container, or a native sidecar an ordinary container
		from, to := "containers", "initContainers"
		if g.coin() {
			from, to = to, from
		}
		if items := listOf(spec[from]); len(items) > 1 {
			moved := items[len(items)-1].(map[string]any)
			spec[from] = items[:len(items)-1]
			if to == "initContainers" && g.coin() {
				moved["restartPolicy"] = "Always"
			} else {
				delete(moved, "restartPolicy")
			}
			spec[to] = append(listOf(spec[to]), moved)
		}
	case 19:
		spec["ephemeralContainers"] = []any{map[string]any{"name": fmt.Sprint(g.one("envoy-0", "log-0", "debug"))}}
	}
	out, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// comparedSeeds is how many random sets of templates the test tries.
var comparedSeeds = 4000
