package main

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netns"
)

func TestRedirectSetsShowsAndRemovesRules(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces and nftables need root; run the test as root")
	}
	const rules = `table inet usher {
	chain inbound {
		type nat hook prerouting priority -100; policy accept;
		tcp flags & (fin | syn | rst | ack) != syn return comment "opened before these rules"
		fib daddr type != local return comment "forwarded by this pod"
		meta l4proto tcp redirect to :15006 comment "inbound, to the proxy"
	}
}
`
	steps := []struct {
		args []string
		want string
	}{
		{[]string{"--show"}, "# no table inet usher: nothing is redirected\n"},
		{[]string{"--undo"}, "no table inet usher: nothing to remove\n"},
		{[]string{"--dry-run", "--inbound-port=15006"}, rules},
		{[]string{"--show"}, "# no table inet usher: nothing is redirected\n"},
		{[]string{"--inbound-port=15006"}, rules},
		{[]string{"--inbound-port=15006"}, rules},
		{[]string{"--show"}, rules},
		{[]string{"--undo"}, "removed table inet usher\n"},
		{[]string{"--show"}, "# no table inet usher: nothing is redirected\n"},
	}
	ended := make(chan error)
	go func() {
		// The goroutine never unlocks the thread, which therefore ends with it, along
		// with the namespace.
		runtime.LockOSThread()
		handle, err := netns.New()
		if err != nil {
			ended <- err
			return
		}
		defer handle.Close()
		for _, step := range steps {
			var out, errs bytes.Buffer
			if status := run(step.args, &out, &errs); status != done || errs.Len() > 0 {
				t.Errorf("%v: exit status %d, stderr %q", step.args, status, errs.String())
			}
			if diff := cmp.Diff(step.want, out.String()); diff != "" {
				t.Errorf("%v (-want +got):\n%s", step.args, diff)
			}
		}
		ended <- nil
	}()
	if err := <-ended; err != nil {
		t.Fatalf("making a network namespace, for which root needs CAP_SYS_ADMIN: %v", err)
	}
}
