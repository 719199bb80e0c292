package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/facts/kubeconfig"
)

// statusInterval is the time between two checks with --wait.
const statusInterval = time.Second

// statusFlags are the flags of usher status.
type statusFlags struct {
	connect     cli.Connection
	own, output string
	pre, wait   bool
	timeout     time.Duration
}

func newStatus(s streams) *cobra.Command {
	flags := statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [--pre | --wait] [-n NAMESPACE]",
		Short: "Check whether usher works in a cluster, and say what to do if it does not",
		Long: `status checks an installation of usher: whether the API server calls it, its
replicas, certificates, configuration, controllers and templates, pods that lack
current sidecars or were refused in the last hour, the levels of namespaces, and,
with a dry run, whether a pod gets its sidecars. Each line says what usher found:

  √ ok   ‼ a warning   × failed   ? unknown, because you may not read it

The lines below say what to do. Without -n, status looks at the pods of every
namespace if you may list them, and of the context's namespace otherwise. The
rights of one namespace suffice for what concerns that namespace.

--pre checks a cluster before usher is installed: its version and admission
plugins, your rights, other webhooks and an existing installation.

--wait checks again until nothing fails, and prints the last result: after an
installation, until the API server calls usher.

Exit status: 0 nothing failed, 1 something failed, 2 bad usage or a cluster that
cannot be reached.`,
		Example: `  usher status --pre
  usher status
  usher install | kubectl apply -f - && usher status --wait
  usher status -n team -o json`,
		Args: cli.NoArguments("it checks the whole installation; name a namespace with -n, and explain an object with usher explain KIND/NAME"),
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd.Context(), s) },
	}
	flags.connect.RegisterNamespace(cmd, "namespace whose pods, Events and level are checked, and of the dry run")
	cmd.Flags().BoolVar(&flags.pre, "pre", false, "check a cluster before usher is installed")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "wait until nothing fails")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 2*time.Minute, "with --wait: how long to wait")
	cli.Output(cmd, &flags.output, "text", "json", "yaml")
	cli.OwnNamespace(cmd, &flags.own)
	flags.connect.RegisterUser(cmd)
	cli.Without(cmd, "without -n it looks at every namespace, if you may list all pods", cli.AllNamespacesFlag)
	cli.Without(cmd, "it looks at every pod; usher drift -l selects pods", cli.SelectorFlag)
	cli.Without(cmd, "it looks at a cluster; usher check reads files", cli.FilenameFlag)
	return cmd
}

func (f *statusFlags) run(ctx context.Context, s streams) error {
	if f.pre && f.connect.Given() != "" {
		return errors.New("--pre and --namespace exclude each other: name usher's namespace with --usher-namespace")
	}
	if f.pre && f.wait {
		return errors.New("--pre and --wait exclude each other: --wait is for an installation")
	}
	config, err := f.connect.Config()
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{} // the dry run asks for them
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	check := f.installed
	if f.pre {
		check = f.before
	}
	report, err := f.until(ctx, func() (*status.Report, error) { return check(ctx, config, clients) })
	if err != nil {
		return err
	}
	if f.output == "text" {
		err = report.Text(s.out, colourful(s))
	} else {
		err = printData(s.out, f.output, report)
	}
	if err == nil && report.Count(status.Failed) > 0 {
		return cli.Exit(cli.Failed, nil)
	}
	return err
}

// until checks, with --wait until nothing fails, and returns the last report.
func (f *statusFlags) until(ctx context.Context, check func() (*status.Report, error)) (*status.Report, error) {
	deadline := time.Now().Add(f.timeout)
	for {
		report, err := check()
		if err != nil || !f.wait || report.Count(status.Failed) == 0 || time.Now().After(deadline) {
			return report, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(statusInterval):
		}
	}
}

// installed checks an installation.
func (f *statusFlags) installed(ctx context.Context, config *rest.Config, clients kubernetes.Interface) (*status.Report, error) {
	try, err := f.connect.Namespace()
	if err != nil {
		return nil, err
	}
	namespace := f.connect.Given()
	if namespace == "" {
		every, err := status.EveryNamespace(ctx, clients)
		if err != nil {
			return nil, err
		}
		if !every {
			namespace = try
		}
	}
	connected, err := kubeconfig.Connect(ctx, config, kubeconfig.Installation{Own: f.own})
	if err != nil {
		return nil, err
	}
	c := &status.Cluster{
		Clients: clients, Cluster: connected, Namespace: namespace, Try: try, Now: time.Now(),
	}
	return c.Check(ctx)
}

// before checks a cluster for an installation with the chart's own values.
func (f *statusFlags) before(ctx context.Context, _ *rest.Config, clients kubernetes.Interface) (*status.Report, error) {
	i := install{namespace: f.own, image: repository}
	namespace, manifests, err := i.render()
	if err != nil {
		return nil, err
	}
	texts := [][]byte{namespace}
	for _, m := range manifests {
		texts = append(texts, []byte(m.Text))
	}
	b := &status.Before{Clients: clients, Own: f.own}
	for _, text := range texts {
		var object struct {
			APIVersion string                     `json:"apiVersion"`
			Kind       string                     `json:"kind"`
			Metadata   struct{ Namespace string } `json:"metadata"`
		}
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("reading the chart: %w", err)
		}
		o := status.Object{GroupVersionKind: schema.FromAPIVersionAndKind(object.APIVersion, object.Kind), Namespace: object.Metadata.Namespace}
		if o.Namespace == "" {
			o.Namespace = f.own
		}
		b.Objects = append(b.Objects, o)
	}
	if _, err := clients.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return b.Check(ctx)
}
