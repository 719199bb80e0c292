package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// diffOptions are the flags of usher diff.
type diffOptions struct {
	output     cli.Outputs
	failOn     string
	files      []string
	server     string
	live       bool
	allowEmpty bool
	config     string
	own        string
	connection cli.Connection
}

func newDiff(s streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff OLD NEW | diff OLD -f NEW... | diff --live NEW...",
		Short: "Show the effect of a change, from in place to irreversible or refused",
		Long: `usher diff compares existing objects with their new manifests, and shows for every
changed field whether the change is applied in place, rolls pods, needs further
steps or the object recreated, loses data, history or an address, or is refused,
and by whom. It ignores defaults and other spellings of a value (1000m and 1).

OLD and NEW are files, folders or "-"; usher diff matches objects by kind,
namespace and name. With --live, it compares each object of NEW with the one in
the cluster, as kubectl apply would change it, and validates custom objects with
the CustomResourceDefinitions in NEW or else in the cluster. It does not write to
the cluster. For a template of usher it judges the cluster's workloads with the
template in place, and shows whose next pods get it, are denied, or are restarted
by options.heal, and how much more they request. A template that denies pods
counts as refused, and one that restarts workloads as a rollout.`,
		Example: `  usher diff main/deploy.yaml deploy.yaml
  git show HEAD:deploy.yaml | usher diff - deploy.yaml
  kustomize build . | usher diff --live -
  usher diff --live audit-initializer.yaml
  usher diff -o markdown main/ deploy/ >comment.md
  usher diff -o html=change.html main/ deploy/`,
		ValidArgsFunction: cli.Manifests,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case o.live && len(args)+len(o.files) == 0:
				return errors.New("usher diff --live needs the manifests to compare with the cluster: run usher diff --live NEW")
			case !o.live && len(o.files) > 0 && len(args) != 1:
				return errors.New("with -f usher diff takes one path, the old manifests: run usher diff OLD -f NEW, or usher diff --live -f NEW")
			case !o.live && len(o.files) == 0 && len(args) < 2:
				return errors.New("usher diff needs the old and the new manifests: run usher diff OLD NEW, or usher diff --live NEW")
			case !o.live && len(o.files) == 0 && len(args) > 2:
				return fmt.Errorf("usher diff takes two paths, but got %d: run usher diff OLD -f NEW -f NEW for several new ones", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	cli.Filenames(cmd, &o.files, "new manifests")
	o.output.Register(cmd, diffFormats...)
	cli.Choose(cmd, &o.failOn, cli.Choice{
		Name: "fail-on", Default: string(transition.Recreate), Values: append(outcomeWords(), never),
		Usage: "exit 1 on this outcome or a more severe one",
	})
	cli.KubernetesVersion(cmd, &o.server, "the cluster's with --live, else the newest known")
	cmd.Flags().BoolVar(&o.live, "live", false, "compare with the objects in the cluster")
	cli.AllowEmpty(cmd, &o.allowEmpty)
	o.connection.RegisterNamespace(cmd, "namespace of objects without one, with --live")
	cli.Configuration(cmd, &o.config)
	cli.OwnNamespace(cmd, &o.own)
	o.connection.RegisterUser(cmd)
	cli.WithoutSelection(cmd)
	return cmd
}

// never is the value of --fail-on that no outcome reaches.
const never = "never"

func outcomeWords() []string {
	var words []string
	for _, o := range transition.Outcomes() {
		words = append(words, strings.ReplaceAll(string(o), " ", "-"))
	}
	return words
}

func (o *diffOptions) run(ctx context.Context, s streams, args []string) error {
	if err := expectStdin(s, args, o.files); err != nil {
		return err
	}
	report := newReport()
	if o.live {
		new := o.read(ctx, s, append(args, o.files...))
		cluster, err := newLive(&o.connection)
		if err != nil {
			return err
		}
		report.errs = slices.Concat(new.unread, onOneSide(new, diffInput{}))
		diffLive(ctx, report, cluster, new.docs, o)
	} else {
		old, new := o.read(ctx, s, args[:1]), o.read(ctx, s, append(args[1:], o.files...))
		old.unread, new.unread = append(old.unread, onOneSide(old, new)...), append(new.unread, onOneSide(new, old)...)
		for _, path := range slices.Sorted(maps.Keys(new.unjudged)) {
			if _, both := old.unjudged[path]; both {
				fmt.Fprintf(s.err, "%s %s is not compared, because it cannot be rendered: %s\n", new.unjudged[path].Kind, new.unjudged[path].Path, new.unjudged[path].Reason)
			}
		}
		report.errs = slices.Concat(old.unread, new.unread)
		if workspace, _, err := o.workspace(ctx, new.docs, o.server, nil, nil); err != nil {
			report.errs = append(report.errs, err)
		} else {
			diffFiles(ctx, report, workspace, old, new)
			report.note(workspace, new.docs)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range report.errs {
		report.Errors = append(report.Errors, strings.Split(err.Error(), "\n")...)
	}
	if err := o.output.Write(s.out, func(w io.Writer, format string) error { return printDiff(w, format, report) }); err != nil {
		report.errs = append(report.errs, err)
	}
	return exitOf(s.err, report, o.failOn)
}

// workspace contains the new objects, for a server of that version with these policies.
// define, if set, registers kinds that the objects do not define.
func (o *diffOptions) workspace(ctx context.Context, docs []*manifest.Document, version string, stored []admission.Manifest, define func(*apiserver.Validator) error) (*files.Workspace, *apiserver.Validator, error) {
	c, folder, err := located(o.config)
	if err != nil {
		return nil, nil, err
	}
	policies, err := policiesIn(ctx, c, folder)
	if err != nil {
		return nil, nil, err
	}
	options := files.Options{
		Steps: verdict.VerifyUpdate | verdict.Validate | verdict.Compare, Configuration: c, Rules: c.Options(), Namespace: cmp.Or(o.connection.Given(), "default"),
		OwnNamespace: o.own, Policies: policies, ClusterPolicies: stored, Plan: true,
	}
	if version != "" {
		if options.Server, err = parseVersion(version); err != nil {
			return nil, nil, err
		}
	}
	server, err := newServer(options.Server, c)
	if err != nil {
		return nil, nil, err
	}
	if define != nil {
		if err := define(server); err != nil {
			return nil, nil, err
		}
	}
	options.Validator = server
	workspace, errs := files.Load(docs, nil, options)
	return workspace, server, errors.Join(errs...)
}

// exitOf reports what could not be read, and converts the result to an exit
// status.
func exitOf(w io.Writer, report *diffReport, failOn string) error {
	if note := files.NotEvaluatedNote(report.NotEvaluated); note != "" {
		fmt.Fprintln(w, note)
	}
	for _, note := range report.notes {
		fmt.Fprintln(w, note)
	}
	for _, err := range report.errs {
		cli.Report(w, err)
	}
	switch {
	case len(report.errs) > 0:
		return cli.Exit(cli.Usage, nil)
	case failOn != never && report.reaches(transition.Outcome(strings.ReplaceAll(failOn, "-", " "))):
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}
