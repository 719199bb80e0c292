package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/verdict"
)

// diffLive compares each object with the one in the cluster, as kubectl apply
// would change it.
func diffLive(ctx context.Context, report *diffReport, cluster *liveObjects, docs []*manifest.Document, o *diffOptions) {
	version := o.server
	if version == "" {
		var err error
		if version, err = cluster.version(); err != nil {
			report.errs = append(report.errs, err)
			return
		}
	}
	policies, note, err := cluster.policies(ctx, cluster.namespacesOf(docs))
	if err != nil {
		report.errs = append(report.errs, err)
		return
	}
	workspace, server, err := o.workspace(ctx, docs, version, policies.found, func(server *apiserver.Validator) (err error) {
		if report.notes, err = cluster.define(ctx, server, append(policies.paramKinds(), docs...)); note != "" {
			report.notes = append(report.notes, note)
		}
		return err
	})
	if err != nil {
		report.errs = append(report.errs, err)
		return
	}
	for _, d := range docs {
		if d.Namespace == "" && workspace.IsTemplate(d) {
			d.Namespace = o.own
		}
		if d.APIVersion == "v1" && d.Kind == "Namespace" {
			cluster.exist[d.Name] = nil // created along with its objects
		}
	}
	for _, d := range report.objects(docs) {
		if ctx.Err() != nil {
			break
		}
		was, err := cluster.get(ctx, d)
		switch {
		case apierrors.IsNotFound(err):
			if err := cluster.namespaceOf(ctx, d); err != nil {
				report.errs = append(report.errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
				continue
			}
			v, err := workspace.Judge(d, nil)
			report.created(d, v, err)
		case err != nil:
			report.errs = append(report.errs, &manifest.Error{File: d.File, Line: d.Line, Err: fmt.Errorf("reading %s from the cluster: %w", d, err)})
		default:
			v, err := applied(workspace, server, was, d)
			report.compared(nil, d, v, err)
			if err == nil && workspace.IsTemplate(d) {
				report.templateCompared(was, d)
			}
		}
	}
	o.previewTemplates(ctx, report, workspace, docs)
	report.note(workspace, docs)
}

// define registers the kinds of the documents that the cluster's
// CustomResourceDefinitions define. If the user may not read one, a note says
// so: objects of its kind are compared, but not validated.
func (l *liveObjects) define(ctx context.Context, server *apiserver.Validator, docs []*manifest.Document) (notes []string, err error) {
	seen := map[schema.GroupKind]bool{}
	for _, d := range docs {
		kind := schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)
		if !d.IsObject() || apiserver.BuiltIn(d.APIVersion, d.Kind) || seen[kind.GroupKind()] {
			continue
		}
		seen[kind.GroupKind()] = true
		mapping, err := l.mapper.RESTMapping(kind.GroupKind())
		if meta.IsNoMatchError(err) {
			continue // reading the object itself will report it
		}
		if err != nil {
			return notes, fmt.Errorf("reading %s from the cluster: %w", kind.GroupKind(), err)
		}
		name := mapping.Resource.GroupResource().String()
		definition, err := l.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // an aggregated API server serves the kind
			continue
		case apierrors.IsForbidden(err):
			notes = append(notes, fmt.Sprintf("%s is compared, but not validated as by the API server: %v", kind.GroupKind(), err))
			continue
		case err != nil:
			return notes, fmt.Errorf("reading CustomResourceDefinition %s from the cluster: %w", name, err)
		}
		if err := defineStored(server, definition); err != nil {
			return notes, err
		}
	}
	return notes, nil
}

// applied validates the result of kubectl apply on a live object.
func applied(workspace *files.Workspace, server *apiserver.Validator, was *unstructured.Unstructured, d *manifest.Document) (*verdict.Verdict, error) {
	old, new := verdict.Object{APIVersion: was.GetAPIVersion(), Kind: was.GetKind(), Name: was.GetName()},
		verdict.Object{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: workspace.NamespaceOf(d), Name: d.Name}
	var err error
	if old.JSON, err = json.Marshal(was.Object); err != nil {
		return nil, err
	}
	if new.JSON, err = server.Applied(d.APIVersion, d.Kind, lastApplied(was), d.JSON, old.JSON); err != nil {
		return nil, err
	}
	return workspace.JudgeObject(new, &old)
}

func (l *liveObjects) get(ctx context.Context, d *manifest.Document) (*unstructured.Unstructured, error) {
	if d.Name == "" {
		return nil, errors.New("it has no metadata.name")
	}
	mapping, err := l.mapping(d)
	if err != nil {
		return nil, err
	}
	resource := dynamic.ResourceInterface(l.dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = l.dynamic.Resource(mapping.Resource).Namespace(cmp.Or(d.Namespace, l.namespace))
	}
	return resource.Get(ctx, d.Name, metav1.GetOptions{})
}

func (l *liveObjects) mapping(d *manifest.Document) (*meta.RESTMapping, error) {
	gvk := schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)
	return l.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// namespaceOf reports an object that cannot be created because its namespace
// does not exist.
func (l *liveObjects) namespaceOf(ctx context.Context, d *manifest.Document) error {
	mapping, err := l.mapping(d)
	if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return err
	}
	name := cmp.Or(d.Namespace, l.namespace)
	err, known := l.exist[name]
	if !known {
		_, err = l.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			err = nil
		case apierrors.IsNotFound(err):
			err = fmt.Errorf("the namespace %q does not exist: create it, or name another: %w", name, err)
		}
		l.exist[name] = err
	}
	return err
}

// lastApplied returns the manifest that kubectl applied last. If none was
// recorded, kubectl apply removes nothing.
func lastApplied(o *unstructured.Unstructured) []byte {
	if before := o.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; before != "" {
		return []byte(before)
	}
	return []byte("{}")
}
