package registration

import (
	"errors"
	"sync"
)

// unknown is the state of a replica that does not hold the Lease.
var unknown = errors.New("another replica maintains the registration, or none does yet")

// A state is whether the registration is as this replica declares it.
type state struct {
	sync.Mutex
	// reported is false before the first report.
	reported bool
	problem  string // "" if it is current
}

// is reports that the registration is current, or why it is not: as a metric, in
// /readyz?verbose, and once in the log.
func (r *Registrar) is(problem error) {
	text := ""
	if problem != nil {
		text = problem.Error()
	}
	r.Metrics.is(problem == nil)
	r.state.Lock()
	defer r.state.Unlock()
	if r.state.reported && r.state.problem == text {
		return
	}
	r.state.reported, r.state.problem = true, text
	switch {
	case problem == nil:
		r.Log.Info("registered", "configuration", ConfigurationName)
	case !errors.Is(problem, unknown):
		r.Log.Info("not registered", "reason", text)
	}
}

// State is the line of /readyz?verbose about the registration.
func (r *Registrar) State() string {
	r.state.Lock()
	defer r.state.Unlock()
	switch {
	case !r.state.reported:
		return "registration: " + unknown.Error()
	case r.state.problem == "":
		return "registration: current"
	}
	return "registration: " + r.state.problem
}
