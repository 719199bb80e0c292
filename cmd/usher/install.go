package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/chart"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/deploy"
)

func newInstall(s streams) *cobra.Command {
	i := install{streams: s}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print the manifests of usher in the version of this program",
		Long: `install prints what usher needs in a cluster, in the version of this program: its
namespace, and the objects of its chart, which this program contains. It asks no
cluster.

The same output removes usher, and with the custom resource definitions all
Networks, EtcdClusters, EtcdBackups and EtcdRestores; --skip-crds keeps them.

  usher install | kubectl apply -f -
  usher install --skip-crds | kubectl delete -f -

--set and --values are Helm's, with the values of usher's chart, such as
--set replicas=3.

Exit status: 0 printed, 2 bad usage or values that the chart refuses.`,
		Args: cli.NoArguments("it prints every manifest; values of the chart follow --set, as in --set replicas=3"),
		RunE: func(*cobra.Command, []string) error { return i.run() },
	}
	f := cmd.Flags()
	f.StringVar(&i.image, "image", "", "usher's image, such as registry.example.com/usher:v1 (default: the published image of this version)")
	f.StringVarP(&i.namespace, "namespace", "n", cli.Namespace, "namespace to install usher in")
	f.StringArrayVar(&i.set, "set", nil, "values of the chart, such as replicas=3,controller.enabled=false")
	f.StringArrayVarP(&i.values, "values", "f", nil, `files with values of the chart, or "-" for standard input; later ones take precedence`)
	f.BoolVar(&i.skipCRDs, "skip-crds", false, "leave out the custom resource definitions")
	cli.Complete(cmd, cli.Manifests, "values")
	f.SetNormalizeFunc(cli.OwnNamespaceAlias)
	cli.Without(cmd, "it installs usher in one namespace, which -n names", cli.AllNamespacesFlag)
	cli.WithoutCluster(cmd, "it prints manifests, and asks no cluster; pipe them into kubectl apply -f -, which takes it")
	return cmd
}

type install struct {
	streams
	image, namespace string
	set, values      []string
	skipCRDs         bool
}

func (i *install) run() error {
	namespace, manifests, err := i.render()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(i.out)
	fmt.Fprintf(out, "# usher %s, by usher install\n%s", cli.Version(), namespace)
	for _, m := range manifests {
		fmt.Fprintf(out, "---\n# Source: %s\n%s\n", m.Source, strings.TrimSpace(m.Text))
	}
	return out.Flush()
}

// render returns the manifest of usher's namespace, and those of the chart.
func (i *install) render() (namespace []byte, manifests []chart.Manifest, err error) {
	values, err := i.merged()
	if err != nil {
		return nil, nil, err
	}
	c, err := chart.Load(deploy.Files, deploy.Chart)
	if err != nil {
		return nil, nil, err
	}
	manifests, err = chart.Render(c, chart.Release{Name: "usher", Namespace: i.namespace, Service: "usher-install"}, values)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; deploy/chart/usher/README.md lists the values", err)
	}
	namespace, err = i.ownNamespace()
	return namespace, manifests, err
}

// merged returns the values of the flags. The image of the program is the weakest,
// --set the strongest.
func (i *install) merged() (map[string]any, error) {
	values := map[string]any{}
	for _, path := range i.values {
		text, err := i.read(path)
		if err != nil {
			return nil, err
		}
		if values, err = chart.MergeFile(values, path, text); err != nil {
			return nil, err
		}
	}
	if i.image != "" {
		image, err := imageValues(i.image)
		if err != nil {
			return nil, fmt.Errorf("--image is %q: %w; write a name such as registry.example.com/usher:v1", i.image, err)
		}
		values = chart.Merge(values, map[string]any{"image": image})
	}
	for _, set := range i.set {
		if err := chart.Set(values, set); err != nil {
			return nil, fmt.Errorf("--set is %q: %w; write a value such as replicas=3", chart.Shown(set), err)
		}
	}
	if i.skipCRDs {
		values = chart.Merge(values, map[string]any{"crds": map[string]any{"install": false}})
	}
	if image, _ := values["image"].(map[string]any); image["repository"] != nil {
		return values, nil
	}
	published, err := publishedImages(cli.Version())
	if err != nil {
		return nil, err
	}
	return chart.Merge(published, values), nil
}

func (i *install) read(path string) ([]byte, error) {
	if path == "-" {
		var text bytes.Buffer
		_, err := text.ReadFrom(i.in)
		return text.Bytes(), err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--values is %q, which does not exist; write the path of a file", path)
	}
	return text, err
}

// ownNamespace is the manifest of usher's namespace.
func (i *install) ownNamespace() ([]byte, error) {
	text, err := deploy.Files.ReadFile(deploy.Namespace)
	if err != nil {
		return nil, err
	}
	var namespace map[string]any
	if err := yaml.Unmarshal(text, &namespace); err != nil {
		return nil, err
	}
	metadata, _ := namespace["metadata"].(map[string]any)
	metadata["name"] = i.namespace
	return yaml.Marshal(namespace)
}
