package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// A printed is an object in manifests.
type printed struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
}

// printedObjects returns the documents of manifests, by kind, namespace and name in
// their order.
func printedObjects(t *testing.T, text string) (names []string, documents map[string][]byte) {
	t.Helper()
	documents = map[string][]byte{}
	for document := range bytes.SplitSeq([]byte("\n"+text), []byte("\n---\n")) {
		var o printed
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "" {
			continue
		}
		name := strings.Join([]string{o.Kind, o.Metadata.Namespace, o.Metadata.Name}, " ")
		names, documents[name] = append(names, name), document
	}
	return names, documents
}

// TestInstallPrintsTheObjectsOfTheManifests compares the objects' names; that the
// chart has the manifests' content is tested with the chart.
func TestInstallPrintsTheObjectsOfTheManifests(t *testing.T) {
	status, out, errs := usher(t, "", "install", "--image", "registry.example.com:5000/usher:dev")
	if status != cli.Clean || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	got, documents := printedObjects(t, out)
	if got[0] != "Namespace  usher-system" {
		t.Errorf("the first object is %q; kubectl creates the others in it", got[0])
	}
	var want []string
	for _, file := range []string{"usher.yaml", "crds.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		names, _ := printedObjects(t, string(text))
		want = append(want, names...)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("-manifests +install:\n%s", diff)
	}
	for _, name := range []string{"usher-webhook", "usher-controller"} {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal(documents["Deployment usher-system "+name], &deployment); err != nil {
			t.Fatal(err)
		}
		if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com:5000/usher:dev" {
			t.Errorf("%s runs the image %s", name, image)
		}
		if by := deployment.Labels["app.kubernetes.io/managed-by"]; by != "usher-install" {
			t.Errorf("%s is managed by %q: Helm would take it over", name, by)
		}
	}
}

func TestInstallWithFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("replicas: 5\npriorityClassName: high\nimage: {repository: mirror.example.com/usher}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		stdin    string
		args     []string
		has, not []string
	}{
		"another namespace":      {"", []string{"-n", "sidecars", "--image", "usher:dev"}, []string{"  name: sidecars\n", "namespace: sidecars\n"}, []string{"usher-system"}},
		"a file":                 {"", []string{"-f", file}, []string{"replicas: 5\n", "priorityClassName: high\n", `image: "mirror.example.com/usher:`}, nil},
		"standard input":         {"replicas: 6", []string{"-f", file, "-f", "-"}, []string{"replicas: 6\n", "priorityClassName: high\n"}, nil},
		"--set after a file":     {"", []string{"-f", file, "--set", "replicas=7,controller.enabled=false"}, []string{"replicas: 7\n"}, []string{"usher-controller"}},
		"--image after a file":   {"", []string{"-f", file, "--image", "usher:dev"}, []string{`image: "usher:dev"`, "replicas: 5\n"}, []string{"mirror"}},
		"a digest":               {"", []string{"--image", "usher@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}, []string{`image: "usher@sha256:e3b0`}, nil},
		"without definitions":    {"", []string{"--skip-crds", "--image", "usher:dev"}, []string{"kind: Deployment"}, []string{"CustomResourceDefinition"}},
		"the image among values": {"", []string{"--set", "image.repository=usher,image.tag=dev"}, []string{`image: "usher:dev"`}, nil},
		"a comma in a value":     {"", []string{"--image", "usher:dev", "--set", `podAnnotations.a=b\,c`}, []string{"a: b,c\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := usher(t, tt.stdin, append([]string{"install"}, tt.args...)...)
			if status != cli.Clean || errs != "" {
				t.Fatalf("status %d, %s", status, errs)
			}
			for _, part := range tt.has {
				if !strings.Contains(out, part) {
					t.Errorf("%q is missing", part)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(out, part) {
					t.Errorf("%q is there", part)
				}
			}
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		err  string
	}{
		"a development build":     {nil, "whose image was not published: name an image with --image, such as --image registry.example.com/usher:dev"},
		"an image that cannot be": {[]string{"--image", "Usher:dev"}, `--image is "Usher:dev": invalid reference format: repository name (library/Usher) must be lowercase; write a name such as registry.example.com/usher:v1`},
		"a value that is unknown": {[]string{"--image", "usher:dev", "--set", "replica=3"}, "the chart usher: it has no value replica; deploy/chart"},
		"a value of another type": {[]string{"--image", "usher:dev", "--set", "replicas=many"}, "the chart usher: replicas is a text; write a whole number; deploy/chart"},
		"no value":                {[]string{"--image", "usher:dev", "--set", "replicas"}, `--set is "replicas": key "replicas" has no value; write a value such as replicas=3`},
		"a missing file":          {[]string{"--image", "usher:dev", "-f", "absent.yaml"}, `--values is "absent.yaml", which does not exist`},
		"a namespace":             {[]string{"--image", "usher:dev", "-n", "Usher"}, `--namespace is "Usher"; write lower-case letters`},
		"an argument":             {[]string{"usher"}, "usher"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := usher(t, "", append([]string{"install"}, tt.args...)...)
			if status != cli.Usage || out != "" || !strings.Contains(errs, tt.err) {
				t.Errorf("status %d, stdout %q, stderr %q; want %q", status, out, errs, tt.err)
			}
		})
	}
}

func TestPublishedImages(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	values := func(tag, digest string) map[string]any {
		all := map[string]any{}
		for name, repository := range map[string]string{"image": "ghcr.io/usher-dev/usher", "podImage": "ghcr.io/usher-dev/usher-pod"} {
			v := map[string]any{"repository": repository}
			if tag != "" {
				v["tag"] = tag
			}
			if digest != "" {
				v["digest"] = digest
			}
			all[name] = v
		}
		return all
	}
	for name, tt := range map[string]struct {
		version, linked string
		want            map[string]any
	}{
		"a release that names its images": {"v0.2.0", "@" + digest, values("", digest)},
		"go install of a release":         {"v0.2.0", "", values("v0.2.0", "")},
		"a release candidate":             {"v0.2.0-rc.1", "", values("v0.2.0-rc.1", "")},
		"a commit":                        {"v0.2.1-0.20261126000000-0123456789ab", "", nil},
		"a checkout":                      {"v0.2.0-devel", "", nil},
		"a modified checkout":             {"v0.2.0+dirty", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.linked != "" {
				image, podImage = repository+tt.linked, repository+"-pod"+tt.linked
				t.Cleanup(func() { image, podImage = "", "" })
			}
			got, err := publishedImages(tt.version)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tt.want != nil) {
				t.Error(err)
			}
		})
	}
}
