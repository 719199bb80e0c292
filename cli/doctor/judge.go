package doctor

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/cli/status"
)

// Judge returns the checks of a cluster, in the order in which to act on them.
func Judge(o *Observation) []status.Check {
	var checks []status.Check
	for _, section := range []func(*Observation) []status.Check{
		quorum, alarms, database, revision, learners, versions, certificates,
	} {
		checks = append(checks, section(o)...)
	}
	return checks
}

// etcdctl returns a command for the cluster.
func (o *Observation) etcdctl(format string, args ...any) string {
	return o.command(strings.Join(o.Given, ","), fmt.Sprintf(format, args...))
}

// at returns a command for one endpoint.
func (o *Observation) at(e *Endpoint, words string) string { return o.command(e.URL, words) }

func (o *Observation) command(endpoints, words string) string {
	return "etcdctl --endpoints=" + Quote(endpoints) + o.Flags + " " + words
}

// Quote returns a word for a shell.
func Quote(word string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if strings.Trim(word, harmless) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// lines joins the lines of a remedy.
func lines(all ...string) string { return strings.Join(all, "\n") }
