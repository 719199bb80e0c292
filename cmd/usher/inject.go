package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/inorder"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/kinds"
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
	allowEmpty      bool
	config          string
}

func newInject(s streams) *cobra.Command {
	var o injectOptions
	cmd := &cobra.Command{
		Use:   "inject PATH... | -f FILE [-t TEMPLATE-CONFIGMAP]",
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
cannot be read, or a template that cannot be used. With status 2 nothing is
printed, so that no pod without its sidecar reaches kubectl apply.`,
		Example: `  usher inject -f pod.yaml -t envoy-initializer.yaml
  kubectl kustomize . | usher inject -f - -t templates/ | kubectl apply -f -
  usher inject -f pod.yaml -t envoy-initializer.yaml -o strategic-patch`,
		ValidArgsFunction: cli.Manifests,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := inputPaths(args, o.files)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), s, paths)
		},
	}
	cli.Filenames(cmd, &o.files, "objects to inject into")
	cli.Templates(cmd, &o.templates)
	cli.Output(cmd, &o.output, injectFormats...)
	f := cmd.Flags()
	f.StringVarP(&o.namespace, cli.NamespaceFlag, "n", "default", "namespace of objects without one")
	cli.NamespaceLabels(cmd, &o.namespaceLabels)
	f.BoolVar(&o.nativeSidecars, "native-sidecars", true, nativeSidecarsUsage)
	cli.AllowEmpty(cmd, &o.allowEmpty)
	cli.Configuration(cmd, &o.config)
	cli.WithoutSelection(cmd)
	return cmd
}

const nativeSidecarsUsage = "assume that the cluster supports native sidecars (Kubernetes 1.29 on every node)"

func (o *injectOptions) run(ctx context.Context, s streams, paths []string) error {
	if err := expectStdin(s, paths, o.templates); err != nil {
		return err
	}
	c, err := configuration(o.config)
	if err != nil {
		return err
	}
	docs, errs := read(ctx, paths, s.in)
	if len(docs) == 0 && len(errs) == 0 && !o.allowEmpty {
		errs = append(errs, withoutObjects(paths))
	}
	given, more := readTemplates(ctx, o.templates, s.in)
	errs = append(errs, more...)
	workspace, more := files.Load(docs, given, files.Options{
		Steps: verdict.PropagateOptIn | verdict.Inject | verdict.Connect, Configuration: c, Rules: c.Options(),
		Namespace: o.namespace, OwnNamespace: cli.Namespace, NamespaceLabels: o.namespaceLabels,
		NativeSidecars: o.nativeSidecars, Explain: o.output == "text", Verbose: true,
	})
	errs = append(errs, more...)
	for _, err := range errs {
		fmt.Fprintln(s.err, err)
	}
	notes := func() {
		for _, note := range workspace.Notes {
			fmt.Fprintln(s.err, note)
		}
	}
	if len(errs) > 0 {
		notes()
		return cli.Exit(cli.Usage, nil) // an object without its sidecar must not reach the output
	}
	if note := files.NotEvaluatedNote(files.NotEvaluated(docs)); note != "" {
		fmt.Fprintln(s.err, note)
	}
	given = slices.DeleteFunc(given, func(d *manifest.Document) bool { return !workspace.IsTemplate(d) })
	out, err := newSpool()
	if err != nil {
		return err
	}
	defer out.close()
	render, denied := newRenderer(o.output, out), 0
	all, names := slices.Concat(given, docs), workspace.Templates.Names()
	err = inorder.Do(ctx, len(all), func(i int) *injected { return o.inject(workspace, all[i], names, i < len(given)) }, func(r *injected) error {
		if r.err != nil {
			return r.err
		}
		if r.denied {
			denied++
		}
		if _, err := s.err.Write(r.report); err != nil {
			return fmt.Errorf("writing to standard error: %w", err)
		}
		return render.add(r.text)
	})
	if err != nil {
		return err // a part of the objects must not reach the output
	}
	notes()
	unusable := func(name string) bool {
		entry, _ := workspace.Templates.Get(name)
		return entry.Err != nil
	}
	if slices.ContainsFunc(workspace.Templates.Names(), unusable) {
		return cli.Exit(cli.Usage, nil) // nobody knows which objects the template selects
	}
	if err := render.end(); err != nil {
		return err
	}
	if err := out.copyTo(s.out); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if denied > 0 {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// inject judges one document, and renders what is written about it. Nothing of the
// result is written of a template that was given with -t.
func (o *injectOptions) inject(workspace *files.Workspace, doc *manifest.Document, names []string, given bool) *injected {
	pods := doc.IsObject() && kinds.Find(doc.APIVersion, doc.Kind).Is(kinds.Pods)
	if pods {
		defer doc.Forget() // no other object's decision reads it
	}
	j, err := o.judge(workspace, doc)
	if err != nil {
		return &injected{err: err}
	}
	var report bytes.Buffer
	j.report(&report)
	if pods {
		for _, found := range explain.WrongKeys(doc, j.verdict, names) {
			fmt.Fprintf(&report, "%s: warning: %s\n", j.where(), found)
		}
	}
	r := &injected{report: report.Bytes(), denied: j.denied()}
	if !given {
		r.text, r.err = j.render(o.output)
	}
	return r
}

// judge judges one document and verifies what is added to it.
func (o *injectOptions) judge(workspace *files.Workspace, doc *manifest.Document) (*judged, error) {
	j := &judged{doc: doc, result: doc.JSON}
	if !doc.IsObject() {
		return j, nil
	}
	var err error
	if j.verdict, err = workspace.Judge(doc, nil); err != nil {
		return nil, err
	}
	workspace.Judged(doc)
	if j.denied() || len(j.verdict.Changes) == 0 {
		return j, nil
	}
	if j.result, err = j.verdict.Changes.Apply(doc.JSON); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
	}
	// Only a change that repeats a merge key has no such patch.
	if o.output == strategicPatch || j.verdict.JSONOnly {
		j.twoWay, j.twoWayErr = podjson.TwoWayMergePatch(doc.Kind, doc.JSON, j.result)
	}
	return j, nil
}
