package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/files"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/manifest"
	"github.com/usher-dev/usher/verdict"
)

// injectOptions are the flags of usher inject.
type injectOptions struct {
	files           []string
	templates       []string
	output          string
	namespace       string
	namespaceLabels map[string]string
	nativeSidecars  bool
	config          string
}

func newInject(s streams) *cobra.Command {
	var o injectOptions
	cmd := &cobra.Command{
		Use:   "inject -f FILE [-t TEMPLATE-CONFIGMAP]",
		Short: "Inject templates into pods and workloads, as the webhook would",
		Long: `Inject templates into the pods and workloads in files, as the webhook would in
the cluster. Objects without a pod template pass unchanged. Objects that would be
denied are missing from the result and listed on standard error.

Templates are the ConfigMaps given with -t and those in the input. Labels of
namespaces come from the Namespaces in the input and --namespace-labels.

Pods that declare Networks (samplecrd.k8s.io/network) are attached to those in
the input, by the backend of the configuration; a Deployment that asks for its
own Network (samplecrd.k8s.io/own-network) declares it.

Exit status: 0 clean, 1 if an object would be denied, 2 bad usage or input that
cannot be read.`,
		Example: `  usher inject -f pod.yaml -t envoy-initializer.yaml
  kubectl kustomize . | usher inject -f - -t templates/ | kubectl apply -f -
  usher inject -f pod.yaml -t envoy-initializer.yaml -o strategic-patch`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, `files or folders with the objects to inject into, "-" for standard input`)
	f.StringSliceVarP(&o.templates, "template", "t", nil, "files or folders with the ConfigMaps of templates")
	f.StringVarP(&o.output, "output", "o", "yaml", strings.Join(injectFormats, "|"))
	f.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of objects without one")
	f.StringToStringVar(&o.namespaceLabels, "namespace-labels", nil, "labels of every namespace, such as inject.usher.dev/templates=envoy")
	f.BoolVar(&o.nativeSidecars, "native-sidecars", true, "assume that the cluster supports native sidecars (Kubernetes 1.29 on every node)")
	f.StringVar(&o.config, "config", "", "configuration (default: the first "+config.FileName+" in this directory or a parent)")
	return cmd
}

func (o *injectOptions) run(s streams) error {
	if len(o.files) == 0 {
		return fmt.Errorf("pass the files to inject into with -f")
	}
	write, err := injectWriter(o.output)
	if err != nil {
		return err
	}
	c, err := configuration(o.config)
	if err != nil {
		return err
	}
	docs, errs := manifest.Read(o.files, s.in)
	given, more := manifest.Read(o.templates, s.in)
	errs = append(errs, more...)
	workspace, more := files.Load(docs, given, files.Options{
		Steps: verdict.Carry | verdict.Inject | verdict.Connect, Configuration: c, Rules: c.Options(),
		Namespace: o.namespace, OwnNamespace: cli.Namespace, NamespaceLabels: o.namespaceLabels,
		NativeSidecars: o.nativeSidecars, Explain: true,
	})
	errs = append(errs, more...)
	for _, err := range errs {
		fmt.Fprintln(s.err, err)
	}
	for _, note := range workspace.Notes {
		fmt.Fprintln(s.err, note)
	}
	var results []*injected
	denied := 0
	given = slices.DeleteFunc(given, func(d *manifest.Document) bool { return !workspace.IsTemplate(d) })
	for _, doc := range slices.Concat(given, docs) {
		r, err := inject(workspace, doc)
		if err != nil {
			return err
		}
		r.report(s.err)
		if r.denied() {
			denied++
		}
		if !slices.Contains(given, doc) {
			results = append(results, r)
		}
	}
	if err := write(s.out, results); err != nil {
		return err
	}
	switch {
	case len(errs) > 0:
		return cli.Exit(cli.Usage, nil)
	case denied > 0:
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// inject judges one document and verifies what is added to it.
func inject(workspace *files.Workspace, doc *manifest.Document) (*injected, error) {
	r := &injected{doc: doc, result: doc.JSON}
	if !doc.IsObject() {
		return r, nil
	}
	var err error
	if r.verdict, err = workspace.Judge(doc, nil); err != nil {
		return nil, err
	}
	if r.denied() || len(r.verdict.Changes) == 0 {
		return r, nil
	}
	if r.result, err = r.verdict.Changes.Apply(doc.JSON); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
	}
	r.twoWay, r.twoWayErr = injector.TwoWayMergePatch(doc.Kind, doc.JSON, r.result)
	return r, nil
}
