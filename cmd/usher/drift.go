package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/facts/kubeconfig"
)

// driftFlags are the flags of usher drift.
type driftFlags struct {
	connect         cli.Connection
	own, output     string
	selector        string
	all, watch      bool
	restart         bool
	dryRun          string
	restartSettings drift.Restart
}

func newDrift(s streams) *cobra.Command {
	flags := driftFlags{restartSettings: drift.Restart{Poll: time.Second, Progress: s.err, Now: time.Now}}
	cmd := &cobra.Command{
		Use:   "drift [KIND/NAME...] [-n NAMESPACE | -A] [-l SELECTOR] [-w | --restart]",
		Short: "List pods with outdated or missing sidecars, and restart their workloads",
		Long: `List running pods that ask for a template and have an old version of it or none,
and pods that a mandatory template would deny if they were recreated, with their
owner and the reason. Run it before you upgrade usher, and before you make a
template mandatory. KIND/NAME is a pod or an owner such as deployment/api; without
one, usher looks at every pod of the namespace.

--restart restarts the Deployments, StatefulSets and DaemonSets that own the pods,
as kubectl rollout restart does, a few at a time and each only while the
PodDisruptionBudgets of its pods allow a disruption.

Exit status: 0 if no pod drifted or all were restarted, 1 if some drifted, 2 bad
usage, a cluster that cannot be read or in which usher is not registered, 130
interrupted.`,
		Example: `  usher drift -n team
  usher drift deployment/api -n team --restart --dry-run=server
  usher drift -A -w`,
		ValidArgsFunction: completeObjects(&flags.connect, ""),
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.run(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	flags.connect.RegisterNamespace(cmd, "namespace to look in")
	f.BoolVarP(&flags.all, cli.AllNamespacesFlag, "A", false, "look in every namespace")
	cli.Selector(cmd, &flags.selector, "look only at pods with these labels")
	f.BoolVarP(&flags.watch, "watch", "w", false, "poll every 5 seconds and print changes, until interrupted")
	cli.Output(cmd, &flags.output, "text", "json", "yaml")
	cli.OwnNamespace(cmd, &flags.own)
	f.BoolVar(&flags.restart, "restart", false, "restart the workloads of the pods that drifted")
	cli.DryRun(cmd, &flags.dryRun, "with --restart, only list the workloads (client), or also ask the API server (server)")
	f.IntVar(&flags.restartSettings.AtOnce, "max-concurrent", 1, "with --restart: how many workloads to restart at a time")
	f.DurationVar(&flags.restartSettings.Timeout, "timeout", 10*time.Minute, "with --restart: timeout for each workload")
	flags.connect.RegisterUser(cmd)
	cli.Without(cmd, "it looks at a cluster; usher check reads files", cli.FilenameFlag)
	return cmd
}

func (f *driftFlags) run(ctx context.Context, s streams, args []string) error {
	targets, err := explain.ParseTargets("", args)
	selector, invalid := cli.ParseSelector(f.selector)
	if err := errors.Join(err, invalid, f.contradiction(len(args))); err != nil {
		return err
	}
	if f.watch {
		return f.follow(ctx, s, targets, selector)
	}
	cluster, findings, err := f.find(ctx, s, targets, selector)
	if err != nil {
		return err
	}
	if err := f.write(s.out, findings); err != nil || len(findings) == 0 {
		return err
	}
	if !f.restart {
		return cli.Exit(cli.Failed, nil)
	}
	r := &f.restartSettings
	r.Cluster, r.DryRun, r.Try = cluster, f.dryRun != cli.DryRunNone, f.dryRun == cli.DryRunServer
	if err := r.Run(ctx, findings); err != nil {
		return cli.Exit(cli.Failed, err)
	}
	return nil
}

// contradiction reports flags that do not go together.
func (f *driftFlags) contradiction(named int) error {
	var errs []error
	if f.dryRun != cli.DryRunNone && !f.restart {
		errs = append(errs, errors.New("--dry-run needs --restart"))
	}
	if n := f.restartSettings.AtOnce; n < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent is %d; write 1 or more", n))
	}
	if timeout := f.restartSettings.Timeout; timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout is %s; write a duration above zero, such as 10m", timeout))
	}
	if f.watch && f.restart {
		errs = append(errs, errors.New("--watch and --restart exclude each other: restart first, then watch"))
	}
	if f.all && f.connect.Given() != "" {
		errs = append(errs, errors.New("--all-namespaces and --namespace exclude each other: write one of them"))
	}
	if named > 0 && (f.all || f.selector != "") {
		errs = append(errs, errors.New("KIND/NAME excludes --all-namespaces and --selector: name the objects, or select them"))
	}
	return errors.Join(errs...)
}

// find connects again, because a connection keeps the templates that it read.
func (f *driftFlags) find(ctx context.Context, s streams, targets []explain.Target, selector labels.Selector) (*kubeconfig.Cluster, []drift.Finding, error) {
	scope := drift.Scope{Selector: selector}
	config, err := f.connect.Config()
	if err != nil {
		return nil, nil, err
	}
	if !f.all {
		if scope.Namespace, err = f.connect.Namespace(); err != nil {
			return nil, nil, err
		}
	}
	cluster, err := kubeconfig.Connect(ctx, config, kubeconfig.Installation{Own: f.own})
	if err != nil {
		return nil, nil, err
	}
	switch err := cluster.Check(ctx, cluster); {
	case errors.Is(err, kubeconfig.ErrUnknown):
		fmt.Fprintf(s.err, "%v; usher assumes that it is\n", err)
	case err != nil:
		return nil, nil, err
	}
	for _, t := range targets {
		w, err := cluster.Workload(ctx, t.APIVersion, t.Kind, scope.Namespace, t.Name)
		if err != nil {
			return nil, nil, err
		}
		owners, err := cluster.Owners(ctx, w)
		if err != nil {
			return nil, nil, err
		}
		if len(owners) > 0 && !w.IsPod() {
			return nil, nil, fmt.Errorf("%s belongs to %s: name that instead", w, owners[len(owners)-1])
		}
		scope.Objects = append(scope.Objects, w.String())
	}
	findings, err := drift.Find(ctx, cluster, scope)
	return cluster, findings, err
}

func (f *driftFlags) write(w io.Writer, findings []drift.Finding) error {
	if f.output == "text" {
		return writeDriftTable(w, findings)
	}
	if findings == nil {
		findings = []drift.Finding{}
	}
	return printData(w, f.output, map[string]any{"findings": findings})
}

func writeDriftTable(w io.Writer, findings []drift.Finding) error {
	if len(findings) == 0 {
		_, err := fmt.Fprintln(w, "All pods have the current sidecars.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tPOD\tOWNER\tTEMPLATE\tSTATE\tWHY")
	for _, f := range findings {
		owner := f.Owner
		if owner == "" {
			owner = "<none>"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Namespace, f.Pod, owner, f.Template, f.State, f.Reason)
	}
	return table.Flush()
}
