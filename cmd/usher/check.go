package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	kubeversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/check"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/render"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/suggest"
	"github.com/usher-dev/usher/verdict"
)

// checkFlags are the flags of check.
type checkFlags struct {
	output                                      cli.Outputs
	level, failOn, config, server, unknownKinds string
	files, rules, groups, exclude               []string
	templates, crds                             []string
	namespace                                   string
	namespaceLabels                             map[string]string
	values, set                                 []string
	allowEmpty, asFound                         bool
	strictInput                                 bool
	cluster                                     clusterFlags
	connection                                  cli.Connection
	baseline                                    baselineFlags
	excludePaths                                []string
}

func newCheck(s streams) *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check PATH... | -f FILE",
		Short: "Check the objects in files as the webhook would",
		Long: `Check the objects in files, folders and standard input (-) against the API
server's validation and the webhook's rules, and print what to write instead.
usher check uses the network only with --cluster, which reads a cluster's version,
CustomResourceDefinitions and ValidatingAdmissionPolicies, and with --cluster-crds.

It checks workloads as they would be after injection; the templates are the
ConfigMaps given with -t and those in the input. It checks templates, too, as
the webhook does when they are applied, but without a dry run.

The labels policy.usher.dev/warn and /enforce of each namespace decide which
findings are reported and which fail; they come from the Namespaces in the input
and --namespace-labels, else from the configuration. usher's own rules do not
apply to objects in kube-system, kube-public and kube-node-lease.

Findings go to standard output. The exit status is 1 if a finding is at the level
of --fail-on or more severe, 2 if input cannot be read, else 0.`,
		Example: `  usher check deploy/
  kustomize build . | usher check -
  usher check -t templates/ --namespace-labels inject.usher.dev/templates=envoy deploy/
  usher check -o sarif . >usher.sarif
  usher check -o html=report.html .`,
		ValidArgsFunction: cli.Manifests,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := inputPaths(args, flags.files)
			if err != nil {
				return err
			}
			run, err := flags.run(cmd.Context())
			if err != nil {
				return err
			}
			if err := expectStdin(s, paths, flags.templates, flags.crds); err != nil {
				return err
			}
			if err := flags.baseline.prepare(run); err != nil {
				return err
			}
			bar, out := newProgress(s), newFindings(s, flags.output)
			defer run.Input.Renderer.Close()
			run.Input.Progress = bar.show
			run.Found = func(found []report.Finding) error {
				bar.clear()
				return out.add(found)
			}
			result, errs := run.Files(cmd.Context(), paths, s.in)
			bar.clear()
			if out.unwritten != nil && !out.keeps { // standard output is the only one
				return cli.Exit(cli.Usage, fmt.Errorf("writing the results: %w", out.unwritten))
			}
			result.Notes = append(result.Notes, run.Options.Configuration.ExemptionNotes(time.Now())...)
			result.Version, result.Findings = cli.Version(), append(result.Findings, out.kept...)
			if cmd.Context().Err() != nil {
				flags.output.Files = nil // an earlier report stays, rather than a part of this one
			}
			unwritten := flags.output.Write(s.out, func(w io.Writer, format string) error {
				return out.end(w, format, result)
			})
			if flags.output.Stdout == "text" {
				byRule(s, result.Summary)
			}
			summarise(s, result)
			strict := flags.strictInput || run.Options.Configuration.Input.Strict
			if unwritten != nil {
				errs = append(errs, unwritten)
			}
			if len(errs) == 0 && result.Summary.Judged == 0 && out.n == 0 && !flags.allowEmpty {
				if result.Summary.Documents == 0 && len(result.Unjudged) == 0 {
					errs = append(errs, withoutObjects(paths))
				}
				errs = append(errs, errors.New("the input has no objects to check; pass --allow-empty to accept that"))
			}
			if err := flags.baseline.end(s, run, result, paths, len(errs) == 0); err != nil {
				errs = append(errs, err)
			}
			if len(errs) > 0 {
				return cli.Exit(cli.Usage, errors.Join(errs...))
			}
			if out.fails || strict && len(result.Unjudged) > 0 {
				return cli.Exit(cli.Failed, nil)
			}
			return nil
		},
	}
	cli.Filenames(cmd, &flags.files, "objects to check")
	flags.output.Register(cmd, report.Formats()...)
	cli.Choose(cmd, &flags.level, cli.Choice{
		Name: "level", Values: finding.LevelNames(),
		Usage: "report findings at this level or more severe (default: the namespace's warn)",
	})
	cli.Choose(cmd, &flags.failOn, cli.Choice{
		Name: "fail-on", Values: append(finding.LevelNames(), finding.Off.String()),
		Usage: "exit 1 on findings at this level or more severe (default: the namespace's enforce)",
	})
	cli.Choose(cmd, &flags.unknownKinds, cli.Choice{
		Name: "unknown-kinds", Default: string(check.Warn), Values: check.UnknownKindsValues(),
		Usage: "what to do with objects whose kind is neither built in nor defined",
	})
	cli.Templates(cmd, &flags.templates)
	f := cmd.Flags()
	f.StringSliceVar(&flags.crds, "crds", nil, "files or folders with CustomResourceDefinitions, in addition to those in the input")
	f.BoolVar(&flags.cluster.all, "cluster", false, "judge as this cluster would: with its version, CustomResourceDefinitions and ValidatingAdmissionPolicies")
	f.BoolVar(&flags.cluster.definitions, "cluster-crds", false, "of a cluster, use only the CustomResourceDefinitions")
	flags.connection.RegisterUser(cmd)
	cli.AllowEmpty(cmd, &flags.allowEmpty)
	f.BoolVar(&flags.asFound, "as-found", false, "treat files that are named like those in a folder: leave out those that the configuration excludes, and those without objects")
	f.BoolVar(&flags.strictInput, "strict-input", false, "exit 1 if a chart, a kustomization or a template is not judged")
	f.StringArrayVar(&flags.values, "values", nil, "file with values of the chart, if the input has one chart (repeatable)")
	f.StringArrayVar(&flags.set, "set", nil, "value of the chart, if the input has one chart, as in replicas=3 (repeatable)")
	f.StringVarP(&flags.namespace, cli.NamespaceFlag, "n", "default", "namespace of objects without one")
	cli.NamespaceLabels(cmd, &flags.namespaceLabels)
	f.StringSliceVar(&flags.rules, "rule", nil, "check only this rule (repeatable)")
	f.StringSliceVar(&flags.groups, "group", nil, "also check this group of rules: "+suggest.List(policies.Groups(), "or")+" (repeatable)")
	f.StringSliceVar(&flags.exclude, "exclude", nil, "skip this rule (repeatable)")
	f.StringArrayVar(&flags.excludePaths, "exclude-paths", nil, "skip the files and folders that match this pattern, such as '**/testdata' (repeatable)")
	flags.baseline.register(cmd)
	cli.Configuration(cmd, &flags.config)
	cli.KubernetesVersion(cmd, &flags.server, "the configuration's, or the newest known")
	cli.Complete(cmd, cli.Manifests, "crds")
	cli.Complete(cmd, flags.connection.CompleteNamespaces, cli.NamespaceFlag)
	cli.Complete(cmd, completeRules, "rule", "exclude")
	cli.Complete(cmd, cobra.FixedCompletions(policies.Groups(), cobra.ShellCompDirectiveNoFileComp), "group")
	cli.WithoutSelection(cmd)
	return cmd
}

// run creates a check from the flags and the configuration.
func (f *checkFlags) run(ctx context.Context) (*check.Run, error) {
	c, folder, err := located(f.config)
	if err != nil {
		return nil, err
	}
	f.rules, f.exclude = ruledocs.Current(f.rules), ruledocs.Current(f.exclude)
	run := &check.Run{
		Options: files.Options{
			Steps: verdict.All, Configuration: c, Rules: c.Options(),
			Eager: true, Namespace: f.namespace, OwnNamespace: cli.Namespace, NamespaceLabels: f.namespaceLabels,
		},
		Only: f.rules, Exclude: slices.Concat(f.exclude, ruledocs.Current(c.Policies.Exclude)), Templates: f.templates, Definitions: f.crds,
		UnknownKinds: check.UnknownKinds(f.unknownKinds), Excerpts: f.output.Uses("html"),
		Fingerprints: f.output.Uses("sarif"),
	}
	o := &run.Options
	var errs []error
	_, wrong := config.FromLabels(f.namespaceLabels, c.Policies)
	for _, err := range wrong {
		errs = append(errs, fmt.Errorf("--namespace-labels: %w", err))
	}
	live, version, err := f.cluster.server(&f.connection)
	if err != nil {
		return nil, err
	}
	if version = cmp.Or(f.server, version); version == "" {
		o.Server, err = c.Server()
	} else {
		o.Server, err = parseVersion(version)
	}
	errs = append(errs, err)
	run.Report, err = level(f.level)
	errs = append(errs, err)
	run.FailOn, err = level(f.failOn)
	errs = append(errs, err)
	for _, group := range f.groups {
		if !slices.Contains(policies.Groups(), group) {
			errs = append(errs, fmt.Errorf("--group is %q; %s", group, suggest.Instead(group, policies.Groups())))
		}
	}
	for _, id := range f.rules {
		errs = append(errs, ruleID("rule", id))
	}
	for _, id := range f.exclude {
		errs = append(errs, ruleID("exclude", id))
	}
	run.Input.Skips, err = excluded(c, folder, f.excludePaths)
	errs = append(errs, err)
	o.Policies, err = policiesIn(ctx, c, folder)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	run.Input.AsFound = f.asFound
	if run.Input.Charts, err = chartValues(c, folder); err != nil {
		return nil, err
	}
	if len(f.values)+len(f.set) > 0 {
		if run.Input.Given, err = mergedValues(f.values, f.set); err != nil {
			return nil, err
		}
	}
	run.Input.Renderer, run.Input.Namespace = &render.Renderer{}, f.namespace
	run.Input.KubernetesVersion = kubernetesVersion(o.Server)
	server, err := newServer(o.Server, c)
	if err != nil {
		return nil, err
	}
	note, err := f.cluster.read(ctx, live, server, o)
	if err != nil {
		return nil, err
	}
	if note != "" {
		run.Notes = append(run.Notes, note)
	}
	o.Validator = server
	// usher assumes that the nodes have the server's version.
	o.NativeSidecars = o.Server == nil || o.Server.AtLeast(nativeSidecars)
	if len(f.rules) > 0 && f.level == "" {
		all := finding.Strict // a rule requested by name applies whatever its level
		run.Report = &all
	}
	only, _ := ruledocs.Split(f.rules)
	exclude, _ := ruledocs.Split(f.exclude)
	o.Rules.Only, o.Rules.Exclude = only, append(slices.Clone(o.Rules.Exclude), exclude...)
	o.Rules.Groups = slices.Concat(o.Rules.Groups, f.groups)
	o.Warn, o.Enforce = run.Report, run.FailOn
	_, err = rules.New(o.Rules)
	return run, err
}

// nativeSidecars is the first version in which native sidecars are on by default
// (KEP-753).
var nativeSidecars = kubeversion.MustParseGeneric("1.29")

// parseVersion parses the value of --kubernetes-version.
func parseVersion(text string) (*kubeversion.Version, error) {
	version, err := kubeversion.ParseGeneric(text)
	if err != nil {
		return nil, fmt.Errorf("--kubernetes-version %q is not a version: write it as 1.34", text)
	}
	return version, nil
}

// level parses the level of a flag, nil if it is not set.
func level(name string) (*finding.Level, error) {
	if name == "" {
		return nil, nil
	}
	l, err := finding.ParseLevel(name)
	return &l, err
}

func colourful(s streams) bool { return os.Getenv("NO_COLOR") == "" && terminal(s.out) }

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress is a progress bar on standard error, for long runs on a terminal.
type progress struct {
	mutex sync.Mutex
	s     streams
	on    bool
	next  time.Time
	drawn bool
}

func newProgress(s streams) *progress {
	return &progress{s: s, on: terminal(s.err), next: time.Now().Add(time.Second)}
}

// show draws the bar ten times a second, starting after one second.
func (p *progress) show(done, all int) {
	if !p.on {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if now := time.Now(); now.After(p.next) {
		const width = 30
		fill := width * done / all
		fmt.Fprintf(p.s.err, "\r[%s%s] %d of %d files", strings.Repeat("#", fill), strings.Repeat(" ", width-fill), done, all)
		p.next, p.drawn = now.Add(100*time.Millisecond), true
	}
}

// clear removes the bar.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.s.err, "\r\x1b[K")
	}
}
