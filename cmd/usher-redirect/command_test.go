package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedirectRefusesBadUsage(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"nothing to do": {nil,
			"Error: nothing to redirect: write the ports that the proxy listens on with --inbound-port, --outbound-port or both\n"},
		"everything that is wrong is told at once": {[]string{"--inbound-port", "http", "--exclude-cidrs", "x"},
			"Error: --inbound-port: \"http\" is not a port; write a number from 1 to 65535, or remove the flag\n" +
				"--exclude-cidrs: \"x\" is neither a network nor an address; write 10.0.0.0/8,169.254.169.254,fd00::/8, for example\n"},
		"the same for a dry run": {[]string{"--dry-run", "--outbound-port", "1"},
			"Error: --outbound-port: the proxy's own connections would loop back to it; write --proxy-uid with the runAsUser of the proxy's container, or --proxy-gid\n"},
		"flags without effect": {[]string{"--undo", "--inbound-port", "1"},
			"Error: --inbound-port: has no effect with --undo; write only --undo\n"},
		"flags without effect on what is shown": {[]string{"--show", "--proxy-uid", "1"},
			"Error: --proxy-uid: has no effect with --show; write only --show\n"},
		"contradiction": {[]string{"--undo", "--show"},
			"Error: --show and --undo contradict each other: write one of them\n"},
		"arguments": {[]string{"15006"},
			"Error: usher-redirect takes no arguments: remove \"15006\"\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(tc.args, &out, &errs); status != usage || out.Len() > 0 {
				t.Errorf("exit status %d, stdout %q", status, out.String())
			}
			if diff := cmp.Diff(tc.want, errs.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}
