package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/doctor"
	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/test/etcdserver"
)

func TestEtcdDoctor_StatusesAndOutputs(t *testing.T) {
	c, err := etcdserver.Start(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	t.Setenv("ETCDCTL_ENDPOINTS", strings.Join(c.Endpoints(), ","))
	t.Setenv("ETCDCTL_USER", "root:hunter2") // ignored: authentication is not enabled
	t.Setenv("ETCDCTL_COMMAND_TIMEOUT", "4s")

	code, out, errs := usher(t, "", "etcd", "doctor")
	if code != cli.Clean || errs != "" || !strings.Contains(out, "√ majority: 3 of 3 voters work, and 2 are a majority\n") || !strings.HasSuffix(out, "\nEverything is ok.\n") {
		t.Errorf("a healthy cluster: status %d, stderr %q\n%s", code, errs, out)
	}

	code, out, _ = usher(t, "", "etcd", "doctor", "-o", "json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.Clean {
		t.Fatalf("status %d, %v: %s", code, err, out)
	}
	if len(r.Members) != 3 || r.Cluster == "" || r.Members[1].Name != "m1" || r.Members[1].Endpoint != c.Members[1].Endpoint || r.Members[1].DBSizeQuota != 8<<30 || r.Count(status.OK) != len(r.Checks) {
		t.Errorf("the report is %s", out)
	}

	c.Members[2].Stop()
	code, out, errs = usher(t, "", "etcd", "doctor", "--endpoints", c.Members[0].Endpoint, "--cluster")
	if code != cli.Failed || errs != "" || !strings.Contains(out, "× m2 ("+c.Members[2].Endpoint+"): no connection: connection refused\n") || !strings.Contains(out, " --user=root member remove ") {
		t.Errorf("a member stopped: status %d, stderr %q\n%s", code, errs, out)
	}
	if strings.Contains(out, "hunter2") {
		t.Errorf("the output has the password:\n%s", out)
	}

	code, out, errs = usher(t, "", "etcd", "doctor", "--endpoints", "127.0.0.1:1") // a port that no test listens on
	want := "Error: no endpoint told the status of a member: the section quorum says why\n"
	if diff := cmp.Diff([]any{cli.Usage, want}, []any{code, errs}); diff != "" || !strings.Contains(out, "connection refused") {
		t.Errorf("status, stderr (-want +got):\n%s\n%s", diff, out)
	}

	t.Setenv("ETCDCTL_COMMAND_TIMEOUT", "soon")
	code, _, errs = usher(t, "", "etcd", "doctor")
	want = "Error: ETCDCTL_COMMAND_TIMEOUT is not a value of --command-timeout: write a duration, such as 5s\n"
	if diff := cmp.Diff([]any{cli.Usage, want}, []any{code, errs}); diff != "" {
		t.Errorf("status, stderr (-want +got):\n%s", diff)
	}
}
