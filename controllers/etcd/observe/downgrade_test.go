package observe

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/usher-dev/usher/etcd"
)

// TestDowngrade_AsTheLeaderSays has a, which leads, and b say what etcd has begun.
func TestDowngrade_AsTheLeaderSays(t *testing.T) {
	v35 := etcd.Version{Major: 3, Minor: 5}
	begun, ended := &pb.DowngradeInfo{Enabled: true, TargetVersion: "3.5.0"}, &pb.DowngradeInfo{}
	for name, tc := range map[string]struct {
		a, b     *pb.DowngradeInfo
		stranger bool
		want     etcd.Version
	}{
		"both say that it has begun":            {begun, begun, false, v35},
		"neither says anything":                 {nil, nil, false, etcd.Version{}},
		"the leader says that it has ended":     {ended, begun, false, etcd.Version{}},
		"the leader says that it has begun":     {begun, ended, false, v35},
		"the leader is too old to say anything": {nil, begun, false, v35},
		"a member of another cluster says it":   {nil, begun, true, etcd.Version{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			p.Answers["a"].Status.DowngradeInfo, p.Answers["b"].Status.DowngradeInfo = tc.a, tc.b
			p.Answers["b"].Status.StorageVersion = "3.5.0"
			if tc.stranger {
				p.Answers["b"].Status.Header.ClusterId++
			}
			seen := FromParts(p, now)
			if seen.Downgrade != tc.want {
				t.Errorf("the downgrade is to %q, want %q", seen.Downgrade, tc.want)
			}
			if got := seen.ByName("b").Format; !tc.stranger && got != v35 {
				t.Errorf("the format of b is %q", got)
			}
		})
	}
}
