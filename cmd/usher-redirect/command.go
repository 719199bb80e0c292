package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/redirect"
)

// Exit statuses.
const (
	done   = 0
	failed = 1 // the kernel refused
	usage  = 2
)

const help = `usher-redirect sends the TCP connections of a pod to the proxy that runs in it. Run it
in an init container of a transparent proxy:

  initContainers:
  - name: redirect
    image: usher-pod
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

// Flags that say what to do with the rules.
const (
	flagDryRun = "dry-run"
	flagShow   = "show"
	flagUndo   = "undo"
)

// A command is the parsed command line.
type command struct {
	redirect.Flags
	dryRun, show, undo bool
}

func (c *command) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("usher-redirect", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringVar(&c.InboundPort, redirect.FlagInboundPort, "", "`port` of the proxy for connections to the pod; without it they are not redirected")
	f.StringVar(&c.OutboundPort, redirect.FlagOutboundPort, "", "`port` of the proxy for connections out of the pod; without it they are not redirected")
	f.StringArrayVar(&c.ProxyUIDs, redirect.FlagProxyUID, nil, "`uids` that the proxy runs as (runAsUser); its connections are not redirected")
	f.StringArrayVar(&c.ProxyGIDs, redirect.FlagProxyGID, nil, "`gids` that the proxy runs as (runAsGroup); its connections are not redirected")
	f.StringArrayVar(&c.IncludeInboundPorts, redirect.FlagIncludeInboundPorts, nil, "inbound `ports` to redirect, such as 8080,9000-9010 (default: all)")
	f.StringArrayVar(&c.ExcludeInboundPorts, redirect.FlagExcludeInboundPorts, nil, "inbound `ports` that are not redirected")
	f.StringArrayVar(&c.ExcludeOutboundPorts, redirect.FlagExcludeOutboundPorts, nil, "outbound `ports` that are not redirected, by the port of the destination")
	f.StringArrayVar(&c.ExcludeCIDRs, redirect.FlagExcludeCIDRs, nil, "`destinations` of outbound connections that are not redirected, such as 169.254.169.254,10.0.0.0/8,fd00::/8")
	f.BoolVar(&c.dryRun, flagDryRun, false, "print the rules without setting them")
	f.BoolVar(&c.show, flagShow, false, "print the rules in force")
	f.BoolVar(&c.undo, flagUndo, false, "remove the rules; redirected connections that are open may break")
	return f
}

// run does what the arguments ask for, and returns the exit status.
func run(args []string, out, errs io.Writer) int {
	var c command
	f := c.flags()
	err := f.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(out, "%s\n\nUsage:\n  usher-redirect [flags]\n\nFlags:\n%s", help, f.FlagUsagesWrapped(100))
		return done
	}
	if err == nil {
		err = check(f)
	}
	if err != nil {
		fmt.Fprintf(errs, "Error: %v\n", err)
		return usage
	}
	var rules redirect.Ruleset
	if !c.show && !c.undo {
		config, err := redirect.Parse(c.Flags)
		if err != nil {
			fmt.Fprintf(errs, "Error: %v\n", err)
			return usage
		}
		rules = redirect.Plan(config)
	}
	text, err := c.act(rules)
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	if err != nil {
		fmt.Fprintf(errs, "Error: %v\n", err)
		return failed
	}
	return done
}

// check refuses arguments, and flags that would have no effect with another
// one.
func check(f *pflag.FlagSet) error {
	if f.NArg() > 0 {
		return fmt.Errorf("usher-redirect takes no arguments: remove %q", f.Arg(0))
	}
	var modes []string
	for _, name := range []string{flagDryRun, flagShow, flagUndo} {
		if f.Changed(name) {
			modes = append(modes, name)
		}
	}
	if len(modes) > 1 {
		return fmt.Errorf("--%s contradict each other: write one of them", strings.Join(modes, " and --"))
	}
	if len(modes) == 0 || modes[0] == flagDryRun {
		return nil
	}
	var err error
	f.Visit(func(given *pflag.Flag) {
		if given.Name != modes[0] && err == nil {
			err = fmt.Errorf("--%s: has no effect with --%s; write only --%s", given.Name, modes[0], modes[0])
		}
	})
	return err
}

// act shows, removes or sets the rules, and returns what to print.
func (c *command) act(rules redirect.Ruleset) (string, error) {
	switch {
	case c.show:
		inForce, ok, err := redirect.Load()
		if err != nil || !ok {
			return fmt.Sprintf("# no table inet %s: nothing is redirected\n", redirect.Table), err
		}
		return inForce.String(), nil
	case c.undo:
		ok, err := redirect.Remove()
		if err != nil || !ok {
			return fmt.Sprintf("no table inet %s: nothing to remove\n", redirect.Table), err
		}
		return fmt.Sprintf("removed table inet %s\n", redirect.Table), nil
	case c.dryRun:
		return rules.String(), nil
	}
	return rules.String(), redirect.Apply(rules)
}
