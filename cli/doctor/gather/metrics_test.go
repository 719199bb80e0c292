package gather

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/doctor"
)

func TestParse_OfMetrics(t *testing.T) {
	yes, no := true, false
	for text, want := range map[string]doctor.Metrics{
		"": {},
		"# HELP etcd_server_quota_backend_bytes the quota\netcd_server_quota_backend_bytes 2.147483648e+09\netcd_server_has_leader 1\n": {Quota: 2 << 30, HasLeader: &yes},
		"etcd_server_has_leader 0\netcd_server_quota_backend_bytes -1\n":                                                                {HasLeader: &no},
		"etcd_server_quota_backend_bytes NaN\n":                                                                                         {},
		"etcd_server_quota_backend_bytes +Inf\n":                                                                                        {},
		"etcd_server_quota_backend_bytes\n<html>\n" + strings.Repeat("x", 1<<20) + "\n":                                                 {},
	} {
		if diff := cmp.Diff(want, parse(strings.NewReader(text))); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", text, diff)
		}
	}
}

func TestEndpoint_WrongText(t *testing.T) {
	for text, wrong := range map[string]bool{
		"etcd-0:2379": false, "http://[::1]:2379": false, "https://etcd-0:2379/": false, "unix:///run/etcd.sock": false,
		"": true, "etcd-0": true, ":2379": true, "http://etcd-0": true, "http://etcd-0:99999": true, "http://a b:2379": true, "ftp://etcd-0:21": true,
		"http://user@etcd-0:2379": true, "http://etcd-0:2379/path": true,
	} {
		if got := Endpoint(text); (got != "") != wrong {
			t.Errorf("%q: %q", text, got)
		}
	}
}
