package istio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	injectortemplate "github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
)

// least is how many outputs usher's templates must produce.
const least = 50

// TestUsherInjectsWhatIstioInjects injects usher's template of each set of mesh
// settings into the inputs, and compares the pods with Istio's.
func TestUsherInjectsWhatIstioInjects(t *testing.T) {
	folder := inputs(t)
	compared, sidecars, proxies, total := goldens(t, folder)
	t.Logf("of %d outputs %d have istio-proxy, %d are those of the default sidecar template, and Istio rewrites the probes in all of these but %d", total, proxies, sidecars, len(compared))
	t.Logf("not compared: the variables %s of istio-proxy, and the annotations %s", strings.Join(leftOutVariables, ", "), strings.Join(leftOutAnnotations, ", "))
	known := different(t)
	templates := map[string][]*manifest.Document{}
	equal := 0
	for _, g := range compared {
		given, read := templates[g.settings]
		if !read {
			var err error
			if given, err = template(g.settings); err != nil {
				t.Errorf("the template of the settings %q: %v", g.settings, err)
			}
			templates[g.settings] = given
		}
		difference, err := g.compare(folder, given)
		why, expected := known[g.name]
		delete(known, g.name)
		switch {
		case err != nil:
			t.Errorf("%s: %v", g.name, err)
		case difference != "" && expected:
			t.Logf("different  %s: %s\n%s", g.name, why, difference)
		case difference != "":
			t.Errorf("different  %s\n%s", g.name, difference)
		case expected:
			t.Errorf("%s is equal: remove it from testdata/different.yaml", g.name)
		default:
			equal++
			t.Logf("equal      %s", g.name)
		}
	}
	for name := range known {
		t.Errorf("testdata/different.yaml names %s, which is not compared", name)
	}
	t.Logf("%d of %d are equal", equal, len(compared))
	if equal < least {
		t.Errorf("%d outputs are equal, want at least %d", equal, least)
	}
}

// different says of outputs why usher's template does not produce them.
func different(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "different.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var why map[string]string
	if err := yaml.UnmarshalStrict(text, &why); err != nil {
		t.Fatal(err)
	}
	return why
}

// compare injects the given template into the golden's input, and returns how the result differs.
func (g golden) compare(folder string, given []*manifest.Document) (string, error) {
	docs, errs := manifest.Read([]string{filepath.Join(folder, g.input)}, nil)
	wanted, more := manifest.Read([]string{filepath.Join(folder, g.name)}, nil)
	if err := errors.Join(append(errs, more...)...); err != nil {
		return "", err
	}
	docs, wanted = objects(docs), objects(wanted)
	if len(docs) != len(wanted) {
		return "", fmt.Errorf("the input has %d objects, the output %d", len(docs), len(wanted))
	}
	c := config.Default()
	workspace, errs := files.Load(docs, given, files.Options{
		Steps: verdict.PropagateOptIn | verdict.Inject, Configuration: c, Rules: c.Options(), Namespace: "default", OwnNamespace: "usher-system", NativeSidecars: true,
	})
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	var differences []string
	for i, doc := range docs {
		v, err := workspace.Judge(doc, nil)
		if err != nil {
			return "", err
		}
		if v.Denied || v.PodsDenied {
			for _, f := range v.Findings {
				differences = append(differences, "denied: "+f.String())
			}
			continue
		}
		injected, err := v.Changes.Apply(doc.JSON)
		if err != nil {
			return "", err
		}
		got, err := podTemplate(doc.Kind, injected)
		if err != nil {
			return "", err
		}
		want, err := podTemplate(wanted[i].Kind, wanted[i].JSON)
		if err != nil {
			return "", err
		}
		if d := difference(want, got); d != "" {
			differences = append(differences, d)
			for _, f := range v.Findings {
				differences = append(differences, "usher: "+f.String())
			}
		}
	}
	return strings.Join(differences, "\n"), nil
}

// objects returns the objects with a pod template. Of OpenShift's kind the cluster
// sends usher only the pods, for which a ReplicationController of the name stands.
func objects(docs []*manifest.Document) []*manifest.Document {
	var found []*manifest.Document
	for _, d := range docs {
		if d.Kind == "DeploymentConfig" {
			d.APIVersion, d.Kind = "v1", "ReplicationController"
			d.JSON = bytes.Replace(d.JSON, []byte(`"DeploymentConfig"`), []byte(`"ReplicationController"`), 1)
		}
		if kinds.Named(d.Kind).Is(kinds.Pods) {
			found = append(found, d)
		}
	}
	return found
}

// template reads the ConfigMap of usher's template for mesh settings.
func template(settings string) ([]*manifest.Document, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "default.yaml"))
	if err != nil {
		return nil, err
	}
	var cm struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]any    `json:"metadata"`
		Data       map[string]string `json:"data"`
	}
	if err := yaml.UnmarshalStrict(text, &cm); err != nil {
		return nil, err
	}
	if settings != "" {
		if err := change(cm.Data, settings); err != nil {
			return nil, fmt.Errorf("the settings %s: %w", settings, err)
		}
	}
	parsed, err := injectortemplate.Parse("istio", cm.Data)
	if err != nil {
		return nil, err
	}
	proof, err := injector.Prove(parsed)
	if err != nil {
		return nil, err
	}
	if len(proof.Problems)+len(parsed.StartOrder()) > 0 {
		return nil, fmt.Errorf("the template is wrong: %v, %v", proof.Problems, parsed.StartOrder())
	}
	changed, err := json.Marshal(cm)
	if err != nil {
		return nil, err
	}
	docs, errs := manifest.Parse(settings, changed)
	return docs, errors.Join(errs...)
}

// change applies the patch of mesh settings to a template's data.
func change(data map[string]string, settings string) error {
	text, err := os.ReadFile(filepath.Join("testdata", "settings", settings+".yaml"))
	if err != nil {
		return err
	}
	patch, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return err
	}
	parts := map[string]any{}
	for key, value := range data {
		var part any
		if err := yaml.Unmarshal([]byte(value), &part); err != nil {
			return err
		}
		parts[key] = part
	}
	all, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	if all, err = operations.Apply(all); err != nil {
		return err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(all, &raw); err != nil {
		return err
	}
	for key, value := range raw {
		data[key] = string(value)
	}
	return nil
}
