package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
)

// files explains the pods and workloads in files, with the given templates.
func (f *explainFlags) files(ctx context.Context, s streams) ([]*explain.Explanation, error) {
	o := &f.offline
	if err := expectStdin(s, o.files, o.templates); err != nil {
		return nil, err
	}
	c, folder, err := located("")
	if err != nil {
		return nil, err
	}
	policies, err := policiesIn(ctx, c, folder)
	if err != nil {
		return nil, err
	}
	docs, errs := read(ctx, o.files, s.in)
	if len(docs) == 0 && len(errs) == 0 {
		errs = append(errs, withoutObjects(o.files))
	}
	given, more := readTemplates(ctx, o.templates, s.in)
	errs = append(errs, more...)
	live, text, err := f.live.server(&f.connect)
	if err != nil {
		return nil, err
	}
	version, err := c.Server()
	if text != "" {
		version, err = parseVersion(text)
	}
	if err != nil {
		return nil, err
	}
	server, err := newServer(version, c)
	if err != nil {
		return nil, err
	}
	options := files.Options{
		Steps: verdict.All, Configuration: c, Rules: c.Options(), Server: version, Validator: server,
		Namespace: cmp.Or(f.connect.Given(), "default"), OwnNamespace: f.own, NamespaceLabels: o.namespaceLabels,
		NativeSidecars: o.nativeSidecars, Policies: policies, Explain: true,
	}
	note, err := f.live.read(ctx, live, server, &options)
	if err != nil {
		return nil, err
	}
	workspace, more := files.Load(docs, given, options)
	errs = append(errs, more...)
	var all []*explain.Explanation
	denied := false
	for _, doc := range docs {
		if !doc.IsObject() || !kinds.Find(doc.APIVersion, doc.Kind).Is(kinds.Pods) {
			continue
		}
		v, err := workspace.Judge(doc, nil)
		if err != nil {
			return nil, err
		}
		w := kubeconfig.Workload{Unstructured: &unstructured.Unstructured{}}
		if err := w.UnmarshalJSON(doc.JSON); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
		}
		w.SetNamespace(workspace.NamespaceOf(doc))
		annotations, _ := w.TemplateMetadata()
		next := kubeconfig.PredictionOf(v, annotations, workspace.Templates)
		denied = denied || next.Denied
		all = append(all, explain.File(w, next, workspace.Templates.Names()))
	}
	notes := workspace.Unadmitted().Notes()
	if note != "" {
		notes = append(notes, note)
	}
	if left := files.NotEvaluatedNote(workspace.NotEvaluated(docs)); left != "" {
		notes = append(notes, left)
	}
	for _, note := range notes {
		fmt.Fprintln(s.err, note)
	}
	if len(all) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("the files contain neither a pod nor an object with a pod template: name files with a Pod, a Deployment or another workload"))
	}
	switch {
	case len(errs) > 0:
		return all, cli.Exit(cli.Usage, errors.Join(errs...))
	case denied:
		return all, cli.Exit(cli.Failed, nil)
	}
	return all, nil
}
