package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	kubeversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/apiserver"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/files"
	"github.com/usher-dev/usher/manifest"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// diffOptions are the flags of usher diff.
type diffOptions struct {
	output     string
	failOn     string
	server     string
	live       bool
	namespace  string
	config     string
	connection cli.Connection
}

func newDiff(s streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff OLD NEW | diff --live NEW...",
		Short: "Show the effect of a change: in place, rollout, in steps, recreate, irreversible, refused",
		Long: `usher diff compares existing objects with their new manifests, and shows for every
changed field whether the change is applied in place, rolls pods, needs further
steps or the object recreated, loses data, history or an address, or is refused,
and by whom. It ignores defaults and other spellings of a value (1000m and 1).

OLD and NEW are files, folders or "-"; usher diff matches objects by kind,
namespace and name. With --live, it compares each object of NEW with the one in
the cluster, as kubectl apply would change it, and validates custom objects with
the CustomResourceDefinitions in NEW or else in the cluster. It does not write to
the cluster.`,
		Example: `  usher diff main/deploy.yaml deploy.yaml
  git show HEAD:deploy.yaml | usher diff - deploy.yaml
  kustomize build . | usher diff --live -`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case o.live && len(args) == 0:
				return errors.New("name the manifests to compare with the cluster: usher diff --live NEW")
			case !o.live && len(args) != 2:
				return fmt.Errorf("got %d arguments instead of the old and the new manifests: run usher diff OLD NEW, or usher diff --live NEW", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	f.StringVar(&o.failOn, "fail-on", string(transition.Recreate), "exit 1 on this outcome or a more severe one: "+outcomeWords()+", or never")
	f.StringVar(&o.server, "kubernetes-version", "", "version of the API server, such as 1.34 (default: the cluster's with --live, else the newest known)")
	f.BoolVar(&o.live, "live", false, "compare with the objects in the cluster")
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace of objects without one, with --live (default: the context's)")
	f.StringVar(&o.config, "config", "", "configuration (default: the first "+config.FileName+" in this directory or a parent)")
	o.connection.Register(f)
	return cmd
}

func outcomeWords() string {
	var words []string
	for _, o := range transition.Outcomes() {
		words = append(words, strings.ReplaceAll(string(o), " ", "-"))
	}
	return strings.Join(words, ", ")
}

// parseFailOn parses an outcome, "" for never.
func parseFailOn(word string) (transition.Outcome, error) {
	if word == "never" {
		return "", nil
	}
	for _, o := range transition.Outcomes() {
		if string(o) == strings.ReplaceAll(word, "-", " ") {
			return o, nil
		}
	}
	return "", fmt.Errorf("--fail-on %q is not an outcome: write one of %s, never", word, outcomeWords())
}

func (o *diffOptions) run(ctx context.Context, s streams, args []string) error {
	failOn, err := parseFailOn(o.failOn)
	if err != nil {
		return err
	}
	print, err := diffPrinter(o.output)
	if err != nil {
		return err
	}
	var report *diffReport
	var errs []error
	if o.live {
		docs, unread := manifest.Read(args, s.in)
		cluster, err := newLive(o)
		if err != nil {
			return err
		}
		report, errs = diffLive(ctx, cluster, docs, o)
		errs = append(unread, errs...)
	} else {
		if args[0] == manifest.Stdin && args[1] == manifest.Stdin {
			return errors.New(`only one of OLD and NEW can be standard input ("-")`)
		}
		old, oldErrs := manifest.Read(args[:1], s.in)
		new, newErrs := manifest.Read(args[1:], s.in)
		workspace, _, err := o.workspace(new, o.server, nil)
		if err != nil {
			return err
		}
		report, errs = diffFiles(workspace, old, new)
		errs = append(append(oldErrs, newErrs...), errs...)
	}
	if err := print(s.out, report); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return exitOf(s.err, report, failOn, errs)
}

// workspace contains the new objects, for a server of that version. define, if
// set, registers kinds that the objects do not define.
func (o *diffOptions) workspace(docs []*manifest.Document, version string, define func(*apiserver.Validator) error) (*files.Workspace, *apiserver.Validator, error) {
	c, err := configuration(o.config)
	if err != nil {
		return nil, nil, err
	}
	options := files.Options{
		Steps: verdict.Keep | verdict.Validate | verdict.Compare, Configuration: c, Rules: c.Options(), Namespace: cmp.Or(o.namespace, "default"),
		OwnNamespace: cli.Namespace, Plan: true,
	}
	if version != "" {
		if options.Server, err = kubeversion.ParseGeneric(version); err != nil {
			return nil, nil, fmt.Errorf("--kubernetes-version %q is not a version: write it as 1.34", version)
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
func exitOf(w io.Writer, report *diffReport, failOn transition.Outcome, errs []error) error {
	for _, note := range report.notes {
		fmt.Fprintln(w, note)
	}
	for _, err := range errs {
		fmt.Fprintf(w, "Error: %v\n", err)
	}
	switch {
	case len(errs) > 0:
		return cli.Exit(cli.Usage, nil)
	case failOn != "" && report.reaches(failOn):
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}
