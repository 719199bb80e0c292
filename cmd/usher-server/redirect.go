package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/redirect"
)

const redirectLong = `redirect sends the TCP connections of a pod to the proxy that runs in it. Run it
in an init container of a transparent proxy:

  initContainers:
  - name: redirect
    image: usher
    args: [redirect, --inbound-port=15006, --outbound-port=15001, --proxy-uid=1337]
    securityContext:
      runAsUser: 0
      runAsNonRoot: false
      capabilities: {drop: [ALL], add: [NET_ADMIN]}

Connections to the pod go to --inbound-port, and connections out of it to
--outbound-port, over both IPv4 and IPv6; the proxy reads their original
destination with SO_ORIGINAL_DST. It must listen on every address for inbound
connections, and at least on 127.0.0.1 and ::1 for outbound ones. These are not
redirected: the proxy's own connections (--proxy-uid, --proxy-gid), connections
within the pod, so that the proxy reaches the application at 127.0.0.1 or the
pod's address, connections that the pod only forwards or that are already open,
and protocols other than TCP, such as DNS over UDP. Exclude the ports that the
kubelet probes or Prometheus scrapes, if the proxy does not serve them.
Connections to the proxy's own ports still reach it; a proxy that connects to
the original destination must refuse them, or it connects to itself.

The rules are the nftables table "inet usher" in the network namespace of the
pod; running the command again replaces them atomically. From then on the
connections of other init containers go to the proxy, too: put those that need
the network before this one, or make the proxy a native sidecar right after it.
Do not run it in a pod with hostNetwork: it would redirect the node's traffic.

Exit status: 0 done, 1 the kernel refused, 2 bad usage.`

func newRedirect() *cobra.Command {
	var flags redirect.Flags
	var show, undo, dryRun bool
	cmd := &cobra.Command{
		Use:   "redirect",
		Short: "Redirect a pod's TCP traffic to the proxy in the pod",
		Long:  redirectLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case show:
				return showRedirect(cmd.OutOrStdout(), cmd.Flags())
			case undo:
				return undoRedirect(cmd.OutOrStdout(), cmd.Flags())
			}
			config, err := redirect.Parse(flags)
			if err != nil {
				return cli.Exit(cli.Usage, err)
			}
			rules := redirect.Plan(config)
			if !dryRun {
				if err := redirect.Apply(rules); err != nil {
					return cli.Exit(cli.Failed, err)
				}
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), rules)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.InboundPort, redirect.FlagInboundPort, "", "`port` of the proxy for connections to the pod; without it they are not redirected")
	f.StringVar(&flags.OutboundPort, redirect.FlagOutboundPort, "", "`port` of the proxy for connections out of the pod; without it they are not redirected")
	f.StringArrayVar(&flags.ProxyUIDs, redirect.FlagProxyUID, nil, "`uids` that the proxy runs as (runAsUser); its connections are not redirected")
	f.StringArrayVar(&flags.ProxyGIDs, redirect.FlagProxyGID, nil, "`gids` that the proxy runs as (runAsGroup); its connections are not redirected")
	f.StringArrayVar(&flags.IncludeInboundPorts, redirect.FlagIncludeInboundPorts, nil, "inbound `ports` to redirect, such as 8080,9000-9010 (default: all)")
	f.StringArrayVar(&flags.ExcludeInboundPorts, redirect.FlagExcludeInboundPorts, nil, "inbound `ports` that are not redirected")
	f.StringArrayVar(&flags.ExcludeOutboundPorts, redirect.FlagExcludeOutboundPorts, nil, "outbound `ports` that are not redirected, by the port of the destination")
	f.StringArrayVar(&flags.ExcludeCIDRs, redirect.FlagExcludeCIDRs, nil, "`destinations` of outbound connections that are not redirected, such as 169.254.169.254,10.0.0.0/8,fd00::/8")
	f.BoolVar(&dryRun, "dry-run", false, "print the rules without setting them")
	f.BoolVar(&show, "show", false, "print the rules in force")
	f.BoolVar(&undo, "undo", false, "remove the rules; redirected connections that are open may break")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "show", "undo")
	return cmd
}

func showRedirect(w io.Writer, given *pflag.FlagSet) error {
	if err := alone("show", given); err != nil {
		return err
	}
	rules, ok, err := redirect.Load()
	if err != nil {
		return cli.Exit(cli.Failed, err)
	}
	if !ok {
		_, err = fmt.Fprintf(w, "# no table inet %s: nothing is redirected\n", redirect.Table)
		return err
	}
	_, err = fmt.Fprint(w, rules)
	return err
}

func undoRedirect(w io.Writer, given *pflag.FlagSet) error {
	if err := alone("undo", given); err != nil {
		return err
	}
	ok, err := redirect.Remove()
	if err != nil {
		return cli.Exit(cli.Failed, err)
	}
	text := "removed table inet %s\n"
	if !ok {
		text = "no table inet %s: nothing to remove\n"
	}
	_, err = fmt.Fprintf(w, text, redirect.Table)
	return err
}

// alone refuses flags that would have no effect with the given one.
func alone(name string, given *pflag.FlagSet) error {
	var err error
	given.Visit(func(f *pflag.Flag) {
		if f.Name != name && err == nil {
			err = cli.Exit(cli.Usage, fmt.Errorf("--%s: has no effect with --%s; write only --%s", f.Name, name, name))
		}
	})
	return err
}
