package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/cmd/usher/live"
	"github.com/usher-dev/usher/injector"
)

func newExplainPod(s streams) *cobra.Command {
	var connect connection
	var namespace, own string
	var offline injectOptions
	cmd := &cobra.Command{
		Use:   "pod NAME [-n NAMESPACE] | pod -f FILE [-t TEMPLATE-CONFIGMAP]",
		Short: "Explain why a pod was or was not injected",
		Long: `Explain why a pod was or was not injected: which key was looked at where, what
was found, and the reason. It is the webhook's own decision, taken anew on the
pod as it is in the cluster, or on a file.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(offline.files) > 0 && len(args) == 0:
				offline.output, offline.namespace = "text", namespace
				if namespace == "" {
					offline.namespace = "default"
				}
				return offline.run(s)
			case len(args) == 0 || len(offline.files) > 0:
				return fmt.Errorf("name one pod, or a file with -f")
			}
			config, err := connect.config()
			if err != nil {
				return err
			}
			if namespace, err = connect.namespace(namespace); err != nil {
				return err
			}
			cluster, err := live.Connect(cmd.Context(), config, own)
			if err != nil {
				return err
			}
			return explainPod(cmd.Context(), s.out, cluster, namespace, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&namespace, "namespace", "n", "", "namespace of the pod")
	f.StringVar(&own, "usher-namespace", ownNamespace, "usher's own namespace")
	f.StringSliceVarP(&offline.files, "filename", "f", nil, `files or folders, "-" for standard input, instead of a pod in the cluster`)
	f.StringSliceVarP(&offline.templates, "template", "t", nil, "files or folders of templates' ConfigMaps, with -f")
	f.StringToStringVar(&offline.namespaceLabels, "namespace-labels", nil, "labels of every namespace, with -f")
	f.BoolVar(&offline.nativeSidecars, "native-sidecars", true, "whether the cluster runs native sidecars, with -f")
	connect.register(f)
	return cmd
}

func explainPod(ctx context.Context, w io.Writer, c *live.Cluster, namespace, name string) error {
	pod := &unstructured.Unstructured{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return err
	}
	object, err := pod.MarshalJSON()
	if err != nil {
		return err
	}
	d, err := c.Decide(ctx, "Pod", namespace, object)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "pod/%s in namespace %s: %s\n", name, namespace, d.Reason)
	for _, step := range d.Steps {
		fmt.Fprintf(w, "  %s\n", step)
	}
	for _, text := range d.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", text)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(w, "  %s: %s\n", p.Reason, p)
	}
	var templates []string
	for _, o := range d.Outcomes {
		if o.Reason == injector.Injected || o.Reason == injector.AlreadyInjected {
			templates = append(templates, o.Template)
		}
	}
	for _, line := range c.Absent(ctx, namespace, templates...) {
		fmt.Fprintf(w, "  warning: %s\n", line)
	}
	return explainWhatFollows(ctx, w, c, d, pod)
}

// explainWhatFollows says what the decision means for a pod that runs already.
func explainWhatFollows(ctx context.Context, w io.Writer, c *live.Cluster, d *injector.Decision, pod *unstructured.Unstructured) error {
	fmt.Fprintf(w, "%s\n", d.Reason.Explain())
	switch {
	case d.Reason == injector.NotAsked:
		owners, err := c.Owners(ctx, pod.GetNamespace(), pod.GetOwnerReferences())
		if err != nil {
			return err
		}
		for _, owner := range owners {
			asks := injector.OptIns(owner.Annotations)
			for _, key := range slices.Sorted(maps.Keys(asks)) {
				value := asks[key]
				fmt.Fprintf(w, "%s carries %s: %q on its own metadata, where its pods do not get it; write it into its pod template.\n", owner, key, value)
			}
		}
	case d.Reason == injector.Injected, d.Denied:
		registered, err := c.Registered(ctx)
		if err != nil {
			return err
		}
		verb := "be injected"
		if d.Denied {
			verb = "be denied"
		}
		fmt.Fprintf(w, "This is what would happen now: the pod would %s. It runs as it was created: before the template, the annotation or the label were there, or while usher was down.\n", verb)
		if !registered {
			fmt.Fprintln(w, "usher is not registered in this cluster: the API server sends it nothing.")
		}
	}
	return nil
}
