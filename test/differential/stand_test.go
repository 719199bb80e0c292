package differential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/admission"
	"github.com/usher-dev/usher/test/controlplane"
)

// A stand has everything necessary to play scenes.
type stand struct {
	*cluster
	commandLine *commandLine
	known       *catalogue
	dir         string
	kubeconfig  string // an administrator's
}

func newStand(t *testing.T) *stand {
	t.Helper()
	dir := t.TempDir()
	flags, err := admission.Flags(dir)
	if err != nil {
		t.Fatal(err)
	}
	flags["service-cluster-ip-range"] = "10.0.0.0/12" // every namespace has a Service
	plane, err := controlplane.StartWithFlags(os.Stderr, flags, "../../deploy/base/crds")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &stand{cluster: &cluster{ControlPlane: plane}, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := os.WriteFile(s.kubeconfig, plane.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if s.server, err = admission.New(plane.Config, dir); err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := grant(t.Context(), clients); err != nil {
		t.Fatal(err)
	}
	version, err := clients.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if s.commandLine, err = buildCommandLine(dir, version.GitVersion); err != nil {
		t.Fatal(err)
	}
	if s.known, err = s.commandLine.catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A result is the result of comparisons.
type result struct {
	// compared counts the scenes, refused those whose objects the API server
	// refuses itself.
	compared, refused int
	// unseen counts those in which the webhook's rules could not read everything,
	// so that check may find more.
	unseen      int
	differences map[string][]difference // by scene
	// injected counts the scenes whose pods get a template with a feature.
	injected map[string]int
}

// features are the parts of options that templates should have often.
var features = []string{"parameters", "onConflict", "place", "after", "preferred", "mandatory"}

// count counts a scene by the features of the templates that its pods get.
func (r *result) count(b *batch, reasons map[string]string) {
	seen := map[string]bool{}
	for _, t := range b.Templates {
		name, _ := at(t, "metadata", "labels")["usher.dev/template"].(string)
		if name == "" {
			name = strings.TrimSuffix(nameOf(at(t, "metadata")), "-initializer")
		}
		if reasons["template "+name] != "injected" {
			continue
		}
		options, _ := at(t, "data")["options"].(string)
		for _, feature := range append(features, "any") {
			if strings.Contains(options, feature) || feature == "any" {
				seen[feature] = true
			}
		}
	}
	for feature := range seen {
		r.injected[feature]++
	}
}

// compare plays a batch and compares the results of the surfaces.
func (s *stand) compare(ctx context.Context, b *batch, then func(map[string]*played) []*scene) (*result, error) {
	var running *running
	var runErr error
	plays, err := s.play(ctx, b, func(plays map[string]*played) []*scene {
		running, runErr = s.running(ctx, b)
		if then == nil {
			return nil
		}
		return then(plays)
	})
	if err := errors.Join(err, runErr); err != nil {
		return nil, err
	}
	all := *b
	all.Scenes = nil
	for _, name := range sortedKeys(plays) {
		all.Scenes = append(all.Scenes, plays[name].scene)
	}
	dir := folder(filepath.Join(s.dir, fmt.Sprintf("batch-%d", s.batches)))
	was := folder(string(dir) + "-was")
	if err := dir.write(&all, false); err != nil {
		return nil, err
	}
	if err := was.write(&all, true); err != nil {
		return nil, err
	}
	r := &result{differences: map[string][]difference{}, injected: map[string]int{}}
	unreadable := func(surface string, err error) {
		if err != nil {
			subject, _, _ := strings.Cut(err.Error(), " batch")
			r.differences[""] = append(r.differences[""], difference{surface + " cannot read the batch", subject, "plays it", err.Error()})
		}
	}
	found, err := s.commandLine.check(ctx, dir)
	if unreadable("check", err); found == nil {
		return r, nil
	}
	before, err := s.commandLine.check(ctx, was)
	if unreadable("check", err); before == nil {
		return r, nil
	}
	injections, err := s.commandLine.inject(ctx, dir, &all)
	if unreadable("inject", err); injections == nil {
		return r, nil
	}
	explanations, err := s.commandLine.explain(ctx, dir)
	if unreadable("explain", err); explanations == nil {
		return r, nil
	}
	namespaces := map[string]map[string]string{}
	for _, n := range all.Namespaces {
		namespaces[n.Name] = n.Labels
	}
	for _, sc := range all.Scenes {
		p, i := plays[sc.Name], injections[dir.scene(sc)]
		const key = "samplecrd.k8s.io/own-network"
		_, asks := at(sc.Object, "metadata", "annotations")[key]
		_, asked := namespaces[sc.Namespace][key]
		sc.ownNetwork = sc.kind() == "Deployment" && (asks || asked)
		if p.refused() {
			r.refused++
			if podOf(sc.Object) != nil && sc.Old == nil && !sc.Earlier {
				if found := compareExplain("explain", sc, p.denial(), &outcome{}, explanations[strings.ToLower(sc.kind())+"/"+sc.Name]); len(found) > 0 {
					r.differences[sc.Name] = found
				}
			}
			continue
		}
		r.compared++
		with := sc.Object
		if i.object != nil {
			with = i.object
		}
		cluster := s.outcome(ctx, p, with, s.known)
		check := checked(sc, found[dir.scene(sc)], before[was.scene(sc)])
		var differences []difference
		if cluster.Unseen {
			r.unseen++
		} else {
			differences = compareCheck(sc, cluster, check)
		}
		if podOf(sc.Object) != nil && sc.Old == nil {
			differences = append(differences, compareInject(sc, cluster, injected(ctx, s.cluster, sc, i))...)
			differences = append(differences, compareExplain("explain", sc, p.denial(), cluster, explanations[strings.ToLower(sc.kind())+"/"+sc.Name])...)
		}
		if sc.Earlier {
			differences = append(differences, compareDrift(sc, cluster, running.drift[sc.Name])...)
			differences = append(differences, compareExplain("explain of the cluster", sc, p.denial(), cluster, running.explanations[sc.Name])...)
			differences = append(differences, compareExplain(dryRun, sc, p.denial(), cluster, running.dryRuns[sc.Name])...)
		}
		passed, err := s.comparePasses(ctx, sc, p.pass)
		if err != nil {
			return nil, fmt.Errorf("scene %s: %w", sc.Name, err)
		}
		differences = append(differences, passed...)
		r.count(&all, cluster.Reasons)
		if len(differences) > 0 {
			r.differences[sc.Name] = differences
		}
	}
	return r, os.RemoveAll(string(dir))
}

// show formats a batch for people; for one with many scenes it shows the common
// parts.
func show(b *batch) string {
	if len(b.Scenes) > 1 {
		b = &batch{Configuration: b.Configuration, Templates: b.Templates}
	}
	text, err := yaml.Marshal(b)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
