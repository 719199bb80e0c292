package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
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
		Long: `Inject templates into the pods and workloads of files, as the webhook would in
the cluster. Objects that hold no pods pass unchanged. What would be denied is
left out of the result and named on standard error.

Templates are the ConfigMaps given with -t and those among the input. Labels of
namespaces come from the Namespaces among the input and --namespace-labels.

Pods that declare Networks (samplecrd.k8s.io/network) are attached to those among
the input, by the backend of the configuration; a Deployment that asks for its
own (samplecrd.k8s.io/own-network) declares it.

Exit status: 0 clean, 1 if an object would be denied, 2 bad usage or input that
cannot be read.`,
		Example: `  usher inject -f pod.yaml -t envoy-initializer.yaml
  kubectl kustomize . | usher inject -f - -t templates/ | kubectl apply -f -
  usher inject -f pod.yaml -t envoy-initializer.yaml -o strategic-patch`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, `files or folders to inject into, "-" for standard input`)
	f.StringSliceVarP(&o.templates, "template", "t", nil, "files or folders of templates' ConfigMaps")
	f.StringVarP(&o.output, "output", "o", "yaml", strings.Join(injectFormats, "|"))
	f.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of objects that name none")
	f.StringToStringVar(&o.namespaceLabels, "namespace-labels", nil, "labels of every namespace, such as inject.usher.dev/templates=envoy")
	f.BoolVar(&o.nativeSidecars, "native-sidecars", true, "whether the cluster runs native sidecars (Kubernetes 1.29 on every node)")
	f.StringVar(&o.config, "config", "", "configuration (default: the nearest "+config.FileName+" upwards)")
	return cmd
}

func (o *injectOptions) run(s streams) error {
	if len(o.files) == 0 {
		return fmt.Errorf("name the files to inject into with -f")
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
	templates, more := manifest.Read(o.templates, s.in)
	errs = append(errs, more...)
	set, invalid, more := templateSet(templates, docs)
	errs = append(errs, more...)
	for _, err := range errs {
		fmt.Fprintln(s.err, err)
	}
	for _, conflict := range set.Conflicts() {
		fmt.Fprintln(s.err, "warning: "+conflict)
	}
	around := surroundings{
		templates: set, labels: namespaceLabels(docs, o.namespaceLabels), networks: manifest.Networks(docs, o.namespace), backend: c.Networks.Backend,
	}
	denied := len(invalid)
	for _, err := range invalid {
		fmt.Fprintln(s.err, err)
	}
	var results []*injected
	for _, doc := range docs {
		r, err := o.inject(doc, around)
		if err != nil {
			return err
		}
		r.report(s.err)
		if r.decision != nil && r.decision.Denied {
			denied++
		}
		results = append(results, r)
	}
	if err := write(s.out, results); err != nil {
		return err
	}
	switch {
	case len(errs) > 0:
		return &exitError{status: exitUsage}
	case denied > 0:
		return &exitError{status: exitFindings}
	}
	return nil
}

// surroundings are what decisions depend on beside the object.
type surroundings struct {
	templates *injector.Set
	labels    func(namespace string) map[string]string
	networks  map[string]map[string]injector.Network
	backend   string
}

// inject decides about one document and proves the decision.
func (o *injectOptions) inject(doc *manifest.Document, around surroundings) (*injected, error) {
	r := &injected{doc: doc, result: doc.JSON}
	if !doc.IsObject() || !injector.Injects(doc.APIVersion, doc.Kind) {
		return r, nil
	}
	var err error
	if r.decision, err = o.decide(doc, around); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
	}
	if r.decision.Denied || len(r.decision.Patch) == 0 {
		return r, nil
	}
	if r.result, err = r.decision.Patch.Apply(doc.JSON); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", doc.File, doc.Line, err)
	}
	r.twoWay, r.twoWayErr = injector.TwoWayMergePatch(doc.Kind, doc.JSON, r.result)
	return r, nil
}

// decide decides about the templates of an object, and then about its Networks.
func (o *injectOptions) decide(doc *manifest.Document, around surroundings) (*injector.Decision, error) {
	namespace := cmp.Or(doc.Namespace, o.namespace)
	labels := around.labels(namespace)
	d, err := injector.Inject(injector.Request{
		Object: doc.JSON, Kind: doc.Kind, Namespace: namespace, NamespaceLabels: labels, OwnNamespace: ownNamespace,
		Templates: around.templates, NativeSidecars: o.nativeSidecars, Explain: true,
	})
	if err != nil {
		return nil, err
	}
	object, err := d.Patch.Apply(doc.JSON)
	if err != nil {
		return nil, err
	}
	attached, err := injector.Connect(injector.AttachRequest{
		Object: object, Kind: doc.Kind, Namespace: namespace, OwnNamespace: ownNamespace,
		Networks: around.networks[namespace], Backend: around.backend, Explain: true,
	}, labels)
	if err != nil {
		return nil, err
	}
	return d.And(attached), nil
}

// templateSet makes the set of the templates given, and of those among the
// objects that go to usher's namespace or name none. invalid are those that
// cannot be used, errs what is no template.
func templateSet(given, objects []*manifest.Document) (set *injector.Set, invalid, errs []error) {
	entries := map[string]injector.Entry{}
	for i, docs := range [][]*manifest.Document{given, objects} {
		for _, doc := range docs {
			if i == 1 && doc.Namespace != "" && doc.Namespace != ownNamespace {
				continue // a template nowhere but in usher's namespace
			}
			name, data, err := templateConfigMap(doc)
			switch {
			case err != nil:
				errs = append(errs, &manifest.Error{File: doc.File, Line: doc.Line, Err: err})
				continue
			case name == "" && i == 0:
				errs = append(errs, &manifest.Error{File: doc.File, Line: doc.Line, Err: fmt.Errorf(
					"%s is no template: write a ConfigMap named <template>%s, or labelled %s", doc, injector.TemplateSuffix, injector.TemplateLabel)})
				continue
			case name == "":
				continue
			}
			if _, taken := entries[name]; taken {
				errs = append(errs, &manifest.Error{File: doc.File, Line: doc.Line, Err: fmt.Errorf("the template %q is given twice", name)})
				continue
			}
			template, err := injector.ParseTemplate(name, data)
			if err != nil {
				invalid = append(invalid, &manifest.Error{File: doc.File, Line: doc.Line, Err: err})
			}
			entries[name] = injector.Entry{Template: template, Err: err}
		}
	}
	return injector.NewSet(entries), invalid, errs
}
