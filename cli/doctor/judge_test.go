package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/etcd"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// healthy is a cluster with that many members, of which the first leads.
func healthy(size int) *Observation {
	o := &Observation{Now: now, Quorum: Proven, Given: []string{"http://m1:2379"}, Flags: " --user=root"}
	for i := range size {
		id := uint64(i + 1)
		url := fmt.Sprintf("http://m%d:2379", id)
		s := Status{
			Cluster: 1, Member: id, Leader: 1, Term: 2, Version: etcd.Newest(), Revision: 10_000, RaftIndex: 20_000, RaftApplied: 20_000,
			Size: 10 << 20, InUse: 9 << 20, Quota: 2 << 30,
		}
		later := s
		o.Members = append(o.Members, Member{ID: id, Name: fmt.Sprintf("m%d", id), ClientURLs: []string{url}})
		o.Endpoints = append(o.Endpoints, Endpoint{URL: url, Status: &s, Later: &later})
	}
	return o
}

// silence lets an endpoint answer nothing.
func silence(o *Observation, i int, kind Kind) {
	o.Endpoints[i].Status, o.Endpoints[i].Later = nil, nil
	o.Endpoints[i].Trouble = &Trouble{kind, "its words"}
}

// certificate is one of 100 days of which some are left.
func certificate(left time.Duration) Certificate {
	return Certificate{Subject: "CN=m", NotBefore: now.Add(left - 100*24*time.Hour), NotAfter: now.Add(left)}
}

func TestJudge(t *testing.T) {
	const day = 24 * time.Hour
	no := false
	for name, tc := range map[string]struct {
		size   int
		change func(*Observation)
		want   []string // the checks that are not ok; with a plus sign before it, one that is
	}{
		"a healthy cluster": {size: 3, want: []string{
			"+quorum margin: 1 voter may fail", "+quorum leader: m1, in term 2", "+revision lag: 3 members caught up with revision 10000",
			"+database m1 (http://m1:2379): 10.0 MiB, of which 10 % are unused; 0 % of the quota of 2.0 GiB",
		}},
		"one voter":    {size: 1, want: []string{"+quorum margin: none, as in every cluster of one voter"}},
		"two voters":   {size: 2, want: []string{"warning quorum margin: 0 voters may fail, as in a cluster of 1: the last voter adds only a machine that can fail"}},
		"four voters":  {size: 4, want: []string{"warning quorum margin: 1 voter may fail, as in a cluster of 3: the last voter adds only a machine that can fail"}},
		"seven voters": {size: 7, want: []string{"+quorum margin: 3 voters may fail"}},
		"nine voters":  {size: 9, want: []string{"warning quorum margin: 4 voters may fail; more than 7 voters make writes slow"}},
		"a member at another address than it advertises is silent": {size: 3, change: func(o *Observation) {
			silence(o, 2, Silent)
			o.Endpoints[2].URL = "http://10.0.0.3:2379"
		}, want: []string{
			"failed quorum margin: no other voter may fail before reads and writes stop; if every voter works, 1 may", "failed quorum http://10.0.0.3:2379: its words",
		}},
		"a member of five is silent": {size: 5, change: func(o *Observation) { silence(o, 4, Silent) }, want: []string{
			"failed quorum margin: 1 other voter may fail before reads and writes stop; if every voter works, 2 may", "failed quorum m5 (http://m5:2379): its words",
		}},
		"a member that answers at one of two addresses works": {size: 3, change: func(o *Observation) {
			o.Members[2].ClientURLs = append(o.Members[2].ClientURLs, "https://other:2379")
			o.Endpoints = append(o.Endpoints, Endpoint{URL: "https://other:2379", Trouble: &Trouble{TLS, "its words"}})
		}, want: []string{"+quorum margin: 1 voter may fail", "failed quorum m3 (https://other:2379): its words"}},
		"a member at two endpoints counts once": {size: 3, change: func(o *Observation) {
			twice := o.Endpoints[0]
			twice.URL = "http://10.0.0.1:2379"
			o.Endpoints = append(o.Endpoints, twice)
		}, want: []string{"+revision lag: 3 members caught up with revision 10000", "+quorum majority: 3 of 3 voters work, and 2 are a majority"}},
		"a member of another cluster": {size: 1, change: func(o *Observation) {
			other := healthy(2).Endpoints[1]
			other.Status.Cluster = 0xabc
			o.Endpoints = append(o.Endpoints, other)
		}, want: []string{"failed quorum http://m2:2379: belongs to cluster abc, and http://m1:2379 to cluster 1"}},
		"a member that never started": {size: 3, change: func(o *Observation) {
			o.Members = append(o.Members, Member{ID: 0xabc})
		}, want: []string{
			"failed quorum margin: no other voter may fail before reads and writes stop; if every voter works, 1 may", "failed quorum member abc: was added, and never started",
		}},
		"a member refuses the client": {size: 3, change: func(o *Observation) { silence(o, 2, Credentials) }, want: []string{
			"+quorum majority: a majority of 3 voters agrees", "unknown quorum margin: no answer from m3", "unknown quorum m3 (http://m3:2379): its words",
		}},
		"the quorum is lost, and a member says so only in its metrics": {size: 3, change: func(o *Observation) {
			o.Quorum = Lost
			silence(o, 0, Login)
			o.Endpoints[0].Metrics.HasLeader = &no
			silence(o, 1, Silent)
			o.Endpoints[2].Later.Leader = 0
		}, want: []string{
			"failed quorum majority: no majority: 2 of 3 voters must agree, and reads and writes wait; m2 does not answer; m1, m3 know no leader",
			"failed quorum margin: none: the cluster has no majority to lose", "failed quorum leader: m3 knows no leader",
			"failed quorum m1 (http://m1:2379): its words", "failed quorum m2 (http://m2:2379): its words",
		}},
		"nothing is known": {size: 1, change: func(o *Observation) {
			o.Quorum, o.Members = Unproven, nil
			silence(o, 0, Strange)
		}, want: []string{
			"unknown quorum majority: no member could be asked for a read that needs a majority",
			"unknown quorum margin: it follows from the list of members and a majority, which could not be read",
			"failed quorum http://m1:2379: its words",
			"unknown alarms alarms: no member said its status", "unknown database size: no member said its status", "unknown revision lag: no member said its status twice",
			"unknown learners learners: the list of members could not be read", "unknown versions versions: no member said its status",
		}},
		"two leaders": {size: 3, change: func(o *Observation) { o.Endpoints[2].Later.Leader, o.Endpoints[2].Later.Term = 2, 3 }, want: []string{
			"warning quorum leader: members disagree: m2 in term 3, or m1 in term 2",
		}},
		"alarms, each once": {size: 3, change: func(o *Observation) {
			for i := range o.Endpoints {
				o.Endpoints[i].Later.Errors = []string{"memberID:2 alarm:NOSPACE ", "memberID:3  alarm:CORRUPT"}
			}
			o.Endpoints[1].Later.Errors = append(o.Endpoints[1].Later.Errors, "etcdserver: no leader", "the disk burns")
		}, want: []string{
			"warning alarms m2 (http://m2:2379): reports: the disk burns",
			"failed alarms NOSPACE: the database of m2 reached its quota: every member refuses writes", "failed alarms CORRUPT: the data of m3 differs from that of other members",
		}},
		"a database at 79 % of its quota": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse, o.Endpoints[0].Later.Quota = 790, 700, 1000
		}},
		"a database at 80 % of a quota from metrics": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse, o.Endpoints[0].Later.Quota, o.Endpoints[0].Metrics.Quota = 800, 700, 0, 1000
		}, want: []string{"warning database m1 (http://m1:2379): 800 B, of which 12 % are unused; 80 % of the quota of 1000 B"}},
		"a database at 95 % of its quota": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse, o.Endpoints[0].Later.Quota = 950, 900, 1000
		}, want: []string{"failed database m1 (http://m1:2379): 950 B, of which 5 % are unused; 95 % of the quota of 1000 B"}},
		"an unknown quota": {size: 1, change: func(o *Observation) { o.Endpoints[0].Later.Quota = 0 }, want: []string{
			"+database m1 (http://m1:2379): 10.0 MiB, of which 10 % are unused; its quota is unknown: the member's metrics could not be read",
		}},
		"different quotas": {size: 3, change: func(o *Observation) { o.Endpoints[1].Later.Quota = 8 << 30 }, want: []string{
			"warning database quota: members have different quotas: the smallest one stops all writes",
		}},
		"a small fragmented database": {size: 1, change: func(o *Observation) { o.Endpoints[0].Later.InUse = 1 }},
		"a large database in use": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse = 1<<30, 1<<30-1
		}},
		"a size that no disk has": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse, o.Endpoints[0].Later.Quota = 1<<60, 1<<60, 1<<62
		}, want: []string{"+database m1 (http://m1:2379): 1048576 TiB, of which 0 % are unused; 25 % of the quota of 4194304 TiB"}},
		"a large fragmented database": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse = 100<<20, 55<<20
		}, want: []string{"warning database m1 (http://m1:2379): 100 MiB, of which 45 % are unused; 5 % of the quota of 2.0 GiB"}},
		"a member lags a little": {size: 3, change: func(o *Observation) { o.Endpoints[2].Later.Revision -= 999 }},
		"a member lags": {size: 3, change: func(o *Observation) { o.Endpoints[2].Later.Revision -= 1000 }, want: []string{
			"warning revision m3 (http://m3:2379): has revision 9000, and another member had 10000 before: 1000 revisions are missing",
		}},
		"writes between the two questions are not a lag": {size: 3, change: func(o *Observation) {
			o.Endpoints[0].Later.Revision += 50_000
			o.Endpoints[1].Later.Revision += 40_000
		}},
		"a member applies slowly": {size: 3, change: func(o *Observation) { o.Endpoints[2].Later.RaftIndex += 1000 }, want: []string{
			"warning revision m3 (http://m3:2379): has not applied 1000 changes that are committed",
		}},
		"a member refuses requests": {size: 3, change: func(o *Observation) { o.Endpoints[2].Later.RaftIndex += 5000 }, want: []string{
			"failed revision m3 (http://m3:2379): has not applied 5000 changes that are committed, and refuses requests",
		}},
		"hashes differ": {size: 3, change: func(o *Observation) {
			for i := range o.Endpoints {
				o.Endpoints[i].Hash = &Hash{Sum: uint32(i / 2), Revision: 9, Compacted: 1}
			}
		}, want: []string{"failed revision hash: the keys of members differ at revision 9: m1, m2 have 00000000; m3 have 00000001"}},
		"hashes of different histories": {size: 2, change: func(o *Observation) {
			o.Endpoints[0].Hash, o.Endpoints[1].Hash = &Hash{Sum: 1, Compacted: 1}, &Hash{Sum: 2, Compacted: 2}
			o.Members[1].Learner = true
		}, want: []string{
			"unknown revision hash: members have not removed the same history, so their hashes cannot be compared",
			"warning learners m2: caught up with 20000 of 20000 changes, and does not vote: nothing promotes it",
		}},
		"a learner that is behind": {size: 4, change: func(o *Observation) {
			o.Members[3].Learner, o.Endpoints[3].Later.Learner, o.Endpoints[3].Later.RaftApplied, o.Endpoints[3].Later.Revision = true, true, 17_999, 1
		}, want: []string{"warning learners m4: does not vote yet: it applied 17999 of 20000 changes"}},
		"a learner that is silent": {size: 4, change: func(o *Observation) {
			o.Members[3].Learner = true
			silence(o, 3, Silent)
		}, want: []string{"failed quorum m4 (http://m4:2379): its words", "warning learners m4: does not vote, and did not say how far it is"}},
		"versions of the past": {size: 3, change: func(o *Observation) {
			for i, v := range []etcd.Version{{Major: 3, Minor: 5, Patch: 2}, {Major: 3, Minor: 5, Patch: 25}, {Major: 3, Minor: 4, Patch: 30}} {
				o.Endpoints[i].Later.Version = v
			}
		}, want: []string{
			"warning versions versions: m3 runs 3.4.30; m1 runs 3.5.2; m2 runs 3.5.25",
			"warning versions 3.4.30: etcd's maintainers no longer correct this minor version",
			"failed versions 3.5.2: its data can become inconsistent when a member crashes, and etcd's maintainers do not recommend it",
			"warning versions 3.5.25: removed members can reappear if it is upgraded to 3.6: upgrade to 3.5.26 or later before that",
		}},
		"a version of the future": {size: 1, change: func(o *Observation) { o.Endpoints[0].Later.Version.Minor = 99 }},
		"a downgrade": {size: 3, change: func(o *Observation) { o.Endpoints[1].Later.Downgrade = "3.6.0" }, want: []string{
			"warning versions downgrade: a downgrade to 3.6.0 has begun",
		}},
		"certificates by what is left": {size: 3, change: func(o *Observation) {
			for i, left := range []time.Duration{20 * day, 20*day - time.Minute, -time.Second} {
				o.Endpoints[i].Chain = []Certificate{certificate(left)}
			}
		}, want: []string{
			"+certificates m1 (http://m1:2379): 20 days left, until 2026-06-21T12:00:00Z",
			`warning certificates m2 (http://m2:2379): the certificate of "CN=m" expires in 19 days, at 2026-06-21T11:59:00Z`,
			`failed certificates m3 (http://m3:2379): the certificate of "CN=m" expired at 2026-06-01T11:59:59Z`,
		}},
		"a certificate of ten years": {size: 1, change: func(o *Observation) {
			o.Endpoints[0].Chain = []Certificate{{"CN=m", now.Add(-3600 * day), now.Add(31 * day)}}
		}},
		"a certificate of the future, and an intermediate that ends": {size: 2, change: func(o *Observation) {
			o.Endpoints[0].Chain = []Certificate{certificate(101 * day)}
			o.Endpoints[1].Chain = []Certificate{certificate(90 * day), {"CN=intermediate", now.Add(-100 * day), now.Add(time.Hour)}}
			o.Members[1].Learner = true
		}, want: []string{
			"warning learners m2: caught up with 20000 of 20000 changes, and does not vote: nothing promotes it",
			`failed certificates m1 (http://m1:2379): serves a certificate of "CN=m" that is valid only from 2026-06-02T12:00:00Z`,
			`warning certificates m2 (http://m2:2379): the certificate of "CN=intermediate" expires in 60 minutes, at 2026-06-01T13:00:00Z`,
		}},
		"a certificate that the client accepts without trust, and one that it does not": {size: 2, change: func(o *Observation) {
			o.Members[1].Learner = true
			for i := range o.Endpoints {
				o.Endpoints[i].Chain, o.Endpoints[i].Untrusted = []Certificate{certificate(90 * day)}, "its words"
			}
			silence(o, 1, TLS)
		}, want: []string{
			"failed quorum m2 (http://m2:2379): its words",
			"warning learners m2: does not vote, and did not say how far it is",
			"warning certificates m1 (http://m1:2379): the client does not trust it: its words",
			"failed certificates m2 (http://m2:2379): the client does not trust it: its words",
		}},
		"files of the client": {size: 1, change: func(o *Observation) {
			o.Files = []File{{CAFile, "ca.crt", []Certificate{certificate(-day), certificate(50 * day)}}, {"--cert", "tls.crt", []Certificate{certificate(day)}}}
		}, want: []string{
			"+certificates --cacert ca.crt: 50 days left, until 2026-07-21T12:00:00Z",
			`warning certificates --cert tls.crt: the certificate of "CN=m" expires in 24 hours, at 2026-06-02T12:00:00Z`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := healthy(tc.size)
			if tc.change != nil {
				tc.change(o)
			}
			var wantOK, want, got []string
			for _, w := range tc.want {
				if ok, is := strings.CutPrefix(w, "+"); is {
					wantOK = append(wantOK, ok)
				} else {
					want = append(want, w)
				}
			}
			ok := map[string]bool{}
			for _, c := range Judge(o) {
				line := fmt.Sprintf("%s %s: %s", c.Section, c.Name, c.Message)
				if c.State == status.OK {
					ok[line] = true
				} else {
					got = append(got, string(c.State)+" "+line)
				}
				if (c.State == status.Failed || c.State == status.Warning) && c.Remedy == "" && c.Name != "margin" {
					t.Errorf("no remedy: %s", line)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("checks that are not ok (-want +got):\n%s", diff)
			}
			for _, w := range wantOK {
				if !ok[w] {
					t.Errorf("missing: %s\nin: %v", w, ok)
				}
			}
		})
	}
}

func TestRemedies_QuoteWhatMembersSay(t *testing.T) {
	o := healthy(3)
	o.Members[2].Name, o.Members[2].ClientURLs = "m3; rm -rf ~", nil
	silence(o, 2, Silent)
	o.Members[2].ClientURLs = []string{o.Endpoints[2].URL}
	for _, c := range Judge(o) {
		if c.Name == o.name(&o.Endpoints[2]) {
			const want = "etcdctl --endpoints=http://m1:2379 --user=root member add 'm3; rm -rf ~' --learner --peer-urls=URL"
			if lines := strings.Split(c.Remedy, "\n"); lines[len(lines)-1] != want {
				t.Errorf("got %s, want %s", lines[len(lines)-1], want)
			}
			return
		}
	}
	t.Error("the silent member has no check")
}
