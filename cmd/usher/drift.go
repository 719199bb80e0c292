package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/drift"
	"github.com/usher-dev/usher/facts/live"
	"github.com/usher-dev/usher/manifest"
	"github.com/usher-dev/usher/webhook/registration"
)

func newDrift(s streams) *cobra.Command {
	var connect cli.Connection
	var namespace, own, output string
	var all, restart bool
	r := drift.Restart{Poll: time.Second, Progress: s.err, Now: time.Now}
	cmd := &cobra.Command{
		Use:   "drift [-n NAMESPACE | -A] [--restart]",
		Short: "List pods with outdated or missing sidecars, and restart their workloads",
		Long: `List running pods that ask for a template and have an old version of it or none,
and pods that a mandatory template would deny if they were recreated, with their
owner and the reason. Run it before you upgrade usher, and before you make a
template mandatory. --restart restarts the Deployments, StatefulSets and DaemonSets
that own the pods, as kubectl rollout restart does, a few at a time and each only
while the PodDisruptionBudgets of its pods allow a disruption.

Exit status: 0 if no pod drifted or all were restarted, 1 if some drifted, 2 bad
usage or a cluster that cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, err := driftWriter(output)
			if err != nil {
				return err
			}
			if r.DryRun && !restart {
				return fmt.Errorf("--dry-run needs --restart")
			}
			config, err := connect.Config()
			if err != nil {
				return err
			}
			if all {
				namespace = ""
			} else if namespace, err = connect.Namespace(namespace); err != nil {
				return err
			}
			if r.Cluster, err = live.Connect(cmd.Context(), config, live.Installation{Own: own, Registration: registration.ConfigurationName}); err != nil {
				return err
			}
			findings, err := drift.Find(cmd.Context(), r.Cluster, namespace)
			if err != nil {
				return err
			}
			if err := write(s.out, findings); err != nil || len(findings) == 0 {
				return err
			}
			if !restart {
				return cli.Exit(cli.Failed, nil)
			}
			if err := r.Run(cmd.Context(), findings); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&namespace, "namespace", "n", "", "namespace to look in")
	f.BoolVarP(&all, "all-namespaces", "A", false, "look in every namespace")
	f.StringVarP(&output, "output", "o", "text", "text|json|yaml")
	f.StringVar(&own, "usher-namespace", cli.Namespace, "usher's own namespace")
	f.BoolVar(&restart, "restart", false, "restart the workloads of the pods that drifted")
	f.BoolVar(&r.DryRun, "dry-run", false, "with --restart: only show what would be restarted")
	f.IntVar(&r.AtOnce, "max-concurrent", 1, "with --restart: how many workloads to restart at a time")
	f.DurationVar(&r.Timeout, "timeout", 10*time.Minute, "with --restart: timeout for each workload")
	connect.Register(f)
	return cmd
}

func driftWriter(format string) (func(io.Writer, []drift.Finding) error, error) {
	switch format {
	case "text":
		return writeDriftTable, nil
	case "json", "yaml":
		return func(w io.Writer, findings []drift.Finding) error {
			if findings == nil {
				findings = []drift.Finding{}
			}
			text, err := json.MarshalIndent(map[string]any{"findings": findings}, "", "  ")
			if err == nil && format == "yaml" {
				text, err = manifest.YAML(text, nil)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "%s\n", text)
			return err
		}, nil
	}
	return nil, fmt.Errorf("--output is %q; write text, json or yaml", format)
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
