package doctor

import "github.com/usher-dev/usher/cli/status"

// A Report is the checks of a cluster, and for programs what the members said.
type Report struct {
	status.Report
	// Cluster is its ID; empty if no member said it.
	Cluster string         `json:"cluster,omitempty"`
	Members []MemberReport `json:"members"`
}

// A MemberReport is what a member said, in etcdctl's words.
type MemberReport struct {
	ID               string `json:"id"`
	Name             string `json:"name,omitempty"`
	Endpoint         string `json:"endpoint"`
	Version          string `json:"version"`
	Leader           string `json:"leader,omitempty"`
	IsLearner        bool   `json:"isLearner"`
	RaftTerm         uint64 `json:"raftTerm"`
	RaftIndex        uint64 `json:"raftIndex"`
	RaftAppliedIndex uint64 `json:"raftAppliedIndex"`
	Revision         int64  `json:"revision"`
	DBSize           int64  `json:"dbSize"`
	DBSizeInUse      int64  `json:"dbSizeInUse"`
	DBSizeQuota      int64  `json:"dbSizeQuota,omitempty"`
}

// NewReport judges an observation.
func NewReport(o *Observation) *Report {
	r := &Report{Report: status.Report{Checks: Judge(o)}, Members: []MemberReport{}}
	for _, e := range o.answering() {
		s := e.status()
		r.Cluster = hex(s.Cluster)
		m := MemberReport{
			ID: hex(s.Member), Endpoint: e.URL, Version: s.Version.String(), IsLearner: s.Learner,
			RaftTerm: s.Term, RaftIndex: s.RaftIndex, RaftAppliedIndex: s.RaftApplied, Revision: s.Revision,
			DBSize: s.Size, DBSizeInUse: s.InUse, DBSizeQuota: e.quota(),
		}
		if s.Leader != 0 {
			m.Leader = hex(s.Leader)
		}
		if of := o.member(e); of != nil {
			m.Name = of.Name
		}
		r.Members = append(r.Members, m)
	}
	return r
}
