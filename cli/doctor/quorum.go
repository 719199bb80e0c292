package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
)

const quorumSection = "quorum"

// mostVoters is how many voters etcd recommends at most.
const mostVoters = 7

// recovery is how to restore a cluster that lost its majority.
const recovery = "if their data is lost, restore a snapshot: https://etcd.io/docs/latest/op-guide/recovery/"

// voters are the voters by what is known of them.
type voters struct {
	all                     int
	work, down, mute, apart []string // apart: they live, and know no leader; mute: they were not asked, or said too little
}

// quorum checks whether the voters have a majority, how many more may fail, and
// each endpoint that did not answer.
func quorum(o *Observation) []status.Check {
	v := count(o)
	checks := []status.Check{majority(o, v), margin(o, v)}
	if check, ok := leader(o); ok {
		checks = append(checks, check)
	}
	return append(append(checks, strangers(o)...), troubles(o)...)
}

// count divides the voters.
func count(o *Observation) voters {
	var v voters
	var unseen []string
	failed := 0 // endpoints without a known member that do not answer
	for i := range o.Endpoints {
		if e := &o.Endpoints[i]; e.Status == nil && !e.Trouble.alive() && o.member(e) == nil {
			failed++
		}
	}
	for i := range o.Members {
		m := &o.Members[i]
		if m.Learner {
			continue
		}
		v.all++
		switch name := o.called(m.ID); o.seen(m) {
		case working:
			v.work = append(v.work, name)
		case silent:
			v.down = append(v.down, name)
		case leaderless:
			v.apart = append(v.apart, name)
		case unread:
			v.mute = append(v.mute, name)
		case unasked:
			unseen = append(unseen, name)
		}
	}
	if failed > 0 && failed >= len(unseen) { // they serve at other addresses than they advertise
		v.down = append(v.down, unseen...)
	} else {
		v.mute = append(v.mute, unseen...)
	}
	return v
}

// A sight is what is known of a member.
type sight int

const (
	unasked sight = iota
	silent
	unread
	leaderless
	working
)

// seen returns the best that any endpoint of a member says.
func (o *Observation) seen(m *Member) sight {
	best := unasked
	if m.Name == "" {
		return silent // it never started
	}
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if o.member(e) != m {
			continue
		}
		sight := silent
		switch {
		case e.Status != nil && e.status().Leader != 0:
			sight = working
		case e.Status != nil, e.Metrics.HasLeader != nil && !*e.Metrics.HasLeader:
			sight = leaderless
		case e.Trouble.alive():
			sight = unread
		}
		best = max(best, sight)
	}
	return best
}

// majority says whether the cluster has a quorum.
func majority(o *Observation, v voters) status.Check {
	check := status.Check{Section: quorumSection, Name: "majority", State: status.OK}
	need := etcd.Quorum(v.all)
	switch {
	case o.Quorum == Proven && v.all == 0:
		check.Message = "the members agree; their list could not be read"
	case o.Quorum == Proven:
		check.Message = fmt.Sprintf("%d of %s work, and %d are a majority", len(v.work), finding.Count(v.all, "voter"), need)
		switch {
		case len(v.mute) > 0:
			check.Message = fmt.Sprintf("a majority of %s agrees", finding.Count(v.all, "voter"))
		case v.all == 1:
			check.Message = "the only voter works"
		}
	case o.Quorum == Unproven:
		check.State, check.Message = status.Unknown, "no member could be asked for a read that needs a majority"
	case v.all == 0:
		check.State, check.Message = status.Failed, "no majority: reads and writes wait; the list of members could not be read"
		check.Remedy = lines("start the members, keep their data, and remove none", recovery)
	default:
		check.State = status.Failed
		check.Message = fmt.Sprintf("no majority: %d of %s must agree, and reads and writes wait", need, finding.Count(v.all, "voter"))
		for _, part := range []struct {
			names []string
			words string
		}{{v.down, "does not answer"}, {v.apart, "knows no leader"}, {v.mute, "was not asked, or could not be read"}} {
			if len(part.names) > 0 {
				check.Message += fmt.Sprintf("; %s %s", strings.Join(part.names, ", "), plural(len(part.names), part.words))
			}
		}
		check.Remedy = lines(fmt.Sprintf("start members until %d run and reach each other's peer URLs; keep their data, and remove none", need), recovery)
	}
	return check
}

// margin says how many more voters may fail.
func margin(o *Observation, v voters) status.Check {
	check := status.Check{Section: quorumSection, Name: "margin", State: status.OK}
	need := etcd.Quorum(v.all)
	most := v.all - need
	left := len(v.work) - need
	switch {
	case o.Quorum == Lost:
		check.State, check.Message = status.Failed, "none: the cluster has no majority to lose"
	case v.all == 0, o.Quorum == Unproven:
		check.State, check.Message = status.Unknown, "it follows from the list of members and a majority, which could not be read"
	case len(v.mute) > 0:
		check.State, check.Message = status.Unknown, "no answer from "+strings.Join(v.mute, ", ")
		check.Remedy = "ask every member: pass --cluster, or their addresses with --endpoints"
	case left < most:
		check.State = status.Failed
		check.Message = fmt.Sprintf("%s may fail before reads and writes stop; if every voter works, %d may", others(max(left, 0)), most)
		check.Remedy = "repair the members below before you stop or restart another one"
	case v.all > mostVoters:
		check.State, check.Message = status.Warning, fmt.Sprintf("%d voters may fail; more than %d voters make writes slow", left, mostVoters)
		check.Remedy = o.etcdctl("member remove ID")
	case v.all > 1 && v.all%2 == 0:
		check.State = status.Warning
		check.Message = fmt.Sprintf("%s may fail, as in a cluster of %d: the last voter adds only a machine that can fail", finding.Count(left, "voter"), v.all-1)
		check.Remedy = lines(fmt.Sprintf("add a voter, or remove one so that %d remain:", v.all-1), o.etcdctl("member remove ID"))
	case v.all == 1:
		check.Message = "none, as in every cluster of one voter"
	default:
		check.Message = finding.Count(left, "voter") + " may fail"
	}
	return check
}

// leader says which member leads, and which members know none or another one.
func leader(o *Observation) (status.Check, bool) {
	check := status.Check{Section: quorumSection, Name: "leader", State: status.OK}
	type reign struct{ leader, term uint64 }
	var reigns []reign
	var none []string
	for _, e := range o.answering() {
		s := e.status()
		if s.Leader == 0 {
			none = append(none, o.called(s.Member))
		} else if r := (reign{s.Leader, s.Term}); !slices.Contains(reigns, r) {
			reigns = append(reigns, r)
		}
	}
	slices.SortFunc(reigns, func(a, b reign) int { return int(b.term) - int(a.term) })
	switch {
	case len(reigns) == 0 && len(none) == 0:
		return check, false
	case len(none) > 0:
		check.State = status.Failed
		check.Message = fmt.Sprintf("%s %s", strings.Join(none, ", "), plural(len(none), "knows no leader"))
		check.Remedy = lines("let the members reach each other's peer URLs, which this command lists:", o.etcdctl("member list -w table"))
	case len(reigns) > 1:
		check.State = status.Warning
		check.Message = fmt.Sprintf("members disagree: %s in term %d, or %s in term %d", o.called(reigns[0].leader), reigns[0].term, o.called(reigns[1].leader), reigns[1].term)
		check.Remedy = lines("an election has just ended if this command shows one leader; otherwise look at the latency of disks and network:", o.etcdctl("endpoint status --cluster -w table"))
	default:
		check.Message = fmt.Sprintf("%s, in term %d", o.called(reigns[0].leader), reigns[0].term)
	}
	return check, true
}

// strangers finds endpoints of another cluster.
func strangers(o *Observation) []status.Check {
	var checks []status.Check
	all := o.answering()
	for _, e := range all {
		if e.Status.Cluster != all[0].Status.Cluster {
			checks = append(checks, status.Check{
				Section: quorumSection, Name: e.URL, State: status.Failed,
				Message: fmt.Sprintf("belongs to cluster %s, and %s to cluster %s", hex(e.Status.Cluster), all[0].URL, hex(all[0].Status.Cluster)),
				Remedy:  "write the endpoints of one cluster",
			})
		}
	}
	return checks
}

// troubles reports each endpoint that did not say its status.
func troubles(o *Observation) []status.Check {
	var checks []status.Check
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if e.Status != nil {
			continue
		}
		check := status.Check{Section: quorumSection, Name: o.name(e), State: status.Failed, Message: e.Trouble.Words}
		switch e.Trouble.Kind {
		case Silent:
			check.Remedy = "start the member, or read its log"
			if m := o.member(e); m != nil && o.Quorum == Proven {
				check.Remedy = lines(check.Remedy, "if its data is lost, remove it, and add it again with an empty data folder:",
					o.etcdctl("member remove %s", hex(m.ID)), o.etcdctl("member add %s --learner --peer-urls=URL", Quote(m.Name)))
			}
		case TLS:
			check.Remedy = "compare --cacert, --cert and --key with the certificates of the member, which the section certificates shows"
		case Credentials:
			check.State = status.Unknown
			check.Remedy = "pass --user NAME:PASSWORD, or set ETCDCTL_USER; any user of etcd may read the status"
		case Login:
			check.Remedy = "etcd checks a password only with a majority: repair the majority first, or look at the member's metrics and log"
		case Strange:
			check.Remedy = "write the client URL of a member, which has port 2379 by default; 2380 is for members"
		}
		checks = append(checks, check)
	}
	for i := range o.Members {
		if m := &o.Members[i]; m.Name == "" {
			checks = append(checks, status.Check{
				Section: quorumSection, Name: o.called(m.ID), State: status.Failed, Message: "was added, and never started",
				Remedy: lines("start it with --initial-cluster-state=existing, or remove it:", o.etcdctl("member remove %s", hex(m.ID))),
			})
		}
	}
	return checks
}

// serves reports whether a member advertises an endpoint.
func serves(m *Member, endpoint string) bool {
	return slices.ContainsFunc(m.ClientURLs, func(u string) bool { return address(u) == address(endpoint) })
}

// address returns the host and port of an endpoint.
func address(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return endpoint
}

// plural returns a phrase in the third person for that many.
func plural(n int, phrase string) string {
	if n == 1 {
		return phrase
	}
	return strings.NewReplacer("does not", "do not", "knows", "know", "was not", "were not").Replace(phrase)
}

// others is that many voters in addition.
func others(n int) string {
	if n == 0 {
		return "no other voter"
	}
	return finding.Count(n, "other voter")
}
