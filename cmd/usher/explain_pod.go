package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/suggest"
)

const explainLong = `Show which templates a pod has, which its replacement will get, and why:

  NOW       what each pod has, read from the pod
  NEXT POD  what the next pod of its owner gets, and what was looked at
  DO        the command that changes it, or nothing

KIND is pod, deployment, statefulset, daemonset, job, cronjob, replicaset or a
short name of kubectl's. A pod that was denied does not exist: name its owner.

NEXT POD is usher's own decision with the templates of the cluster. Without the
right to read them it comes from a dry run: the API server sends usher a pod and
stores nothing, which needs only the right to create pods in the namespace.

Exit status: 0 explained, 1 if pods of a file would be denied, 2 bad usage, or
objects that cannot be read.`

// explainFlags are the flags of usher explain.
type explainFlags struct {
	connect  cli.Connection
	own      string
	selector string
	output   string
	offline  injectOptions
	live     clusterFlags
}

// newExplainWorkload returns the command that explains pods and their owners. A
// name without a kind has the given one.
func newExplainWorkload(s streams, use, kind string) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   use,
		Short: "Explain which templates pods have and will get",
		Long:  explainLong,
		Example: `  usher explain pod api-5c9f8d7b6-x2x4z -n team
  usher explain deployment/api -n team
  usher explain -l app=api -n team -o json
  usher explain pod -f pod.yaml -t template.yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeObjects(&f.connect, kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind == "" && len(args) == 0 && f.selector == "" && len(f.offline.files) == 0 {
				return cmd.Usage()
			}
			if wrong := unknownExplanation(cmd, args); kind == "" && wrong != nil {
				return wrong
			}
			return f.run(cmd.Context(), s, kind, args)
		},
	}
	flags := cmd.Flags()
	f.connect.RegisterNamespace(cmd, "namespace of the objects")
	cli.OwnNamespace(cmd, &f.own)
	cli.Selector(cmd, &f.selector, "explain the pods with these labels, and their owners")
	cli.Output(cmd, &f.output, "text", "json", "yaml")
	cli.Filenames(cmd, &f.offline.files, "pods and workloads, instead of objects in the cluster")
	cli.Templates(cmd, &f.offline.templates)
	cli.NamespaceLabels(cmd, &f.offline.namespaceLabels)
	flags.BoolVar(&f.offline.nativeSidecars, "native-sidecars", true, nativeSidecarsUsage)
	flags.BoolVar(&f.live.all, "cluster", false, "with -f, judge as this cluster would: with its version, CustomResourceDefinitions and ValidatingAdmissionPolicies")
	f.connect.RegisterUser(cmd)
	cli.Without(cmd, "it explains objects of one namespace, which -n names; usher drift -A looks at every namespace", cli.AllNamespacesFlag)
	return cmd
}

// unknownExplanation names the command that was probably meant, if the first
// argument is neither an object nor a kind.
func unknownExplanation(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "/") {
		return nil
	}
	if _, err := explain.ParseTargets("", []string{args[0] + "/any"}); err == nil {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	if nearest := suggest.Nearest(args[0], names); nearest != "" {
		return fmt.Errorf("usher explain has no command %q: did you mean usher explain %s?", args[0], nearest)
	}
	return nil
}

func (f *explainFlags) run(ctx context.Context, s streams, kind string, args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, f.selector != "", len(f.offline.files) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("name the objects, select them with -l, or pass files with -f")
	}
	if f.live.all && len(f.offline.files) == 0 {
		return errors.New("--cluster is for files: pass them with -f, or leave out --cluster, because objects of the cluster are judged there")
	}
	var all []*explain.Explanation
	var err error
	if len(f.offline.files) > 0 {
		all, err = f.files(ctx, s)
	} else {
		all, err = f.cluster(ctx, kind, args)
	}
	if len(all) > 0 {
		if failed := f.write(s.out, all); failed != nil {
			return failed
		}
	}
	return err
}

func (f *explainFlags) write(w io.Writer, all []*explain.Explanation) error {
	if f.output == "text" {
		return explain.WriteText(w, all)
	}
	return printData(w, f.output, map[string]any{"explanations": all})
}

// cluster explains objects of the cluster. An object that cannot be explained
// does not hide the others.
func (f *explainFlags) cluster(ctx context.Context, kind string, args []string) ([]*explain.Explanation, error) {
	targets, err := explain.ParseTargets(kind, args)
	if err != nil {
		return nil, err
	}
	selector, err := cli.ParseSelector(f.selector)
	if err != nil {
		return nil, err
	}
	config, err := f.connect.Config()
	if err != nil {
		return nil, err
	}
	namespace, err := f.connect.Namespace()
	if err != nil {
		return nil, err
	}
	cluster, err := kubeconfig.Connect(ctx, config, kubeconfig.Installation{Own: f.own})
	if err != nil {
		return nil, err
	}
	e := explain.Explainer{Cluster: cluster}
	if f.selector != "" {
		return e.Selected(ctx, namespace, selector)
	}
	var all []*explain.Explanation
	var errs []error
	for _, target := range targets {
		explanation, err := e.Object(ctx, namespace, target)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, explanation)
	}
	return all, errors.Join(errs...)
}
