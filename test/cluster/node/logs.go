package node

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// AuditLog names the file of the API server's audit log, which has an event of
// each creation and change of a pod or workload.
func (n *Node) AuditLog() (string, error) {
	if n.machine == nil {
		return "", ErrNoMachine
	}
	return auditLog, nil
}

// Dump writes what is needed to find out why a test failed: the pods, events
// and containers' logs of the namespaces, and the end of the programs' logs.
func (n *Node) Dump(ctx context.Context, w io.Writer, namespaces ...string) {
	for _, ns := range namespaces {
		n.dumpKubectl(ctx, w, "get", "pods,jobs,deployments,services", "-n", ns, "-o", "wide")
		n.dumpKubectl(ctx, w, "get", "events", "-n", ns, "--sort-by=.lastTimestamp")
		names, err := n.ReadKubectl(ctx, "get", "pods", "-n", ns, "-o", "name")
		if err != nil {
			continue // already reported
		}
		for name := range strings.FieldsSeq(names) {
			n.dumpKubectl(ctx, w, "logs", "-n", ns, name, "--all-containers", "--prefix", "--tail=50")
		}
	}
	if n.machine == nil {
		return
	}
	for _, p := range all() {
		fmt.Fprintf(w, "--- %s\n%s\n", logFile(p.program), lastLines(p.program, 20))
	}
}

func (n *Node) dumpKubectl(ctx context.Context, w io.Writer, args ...string) {
	out, err := n.Kubectl(ctx, "", args...)
	fmt.Fprintf(w, "--- kubectl %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		fmt.Fprintln(w, err)
	}
}
