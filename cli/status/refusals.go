package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/facts/refused"
	"github.com/usher-dev/usher/finding"
)

const (
	refusalsSection = "refused pods"
	// lookBack is how long API servers keep Events by default.
	lookBack = time.Hour
	// mostEvents limits how many Events are read.
	mostEvents = 10_000
	pageSize   = 500
)

// A refusal is a pod that a controller could not create because of usher.
type refusal struct {
	namespace, owner, reason string
	// unreachable is true if the API server could not call usher.
	unreachable bool
	count       int32
}

// refusals checks the Events of controllers whose pods the API server refused.
func (c *Cluster) refusals(ctx context.Context) []Check {
	var events []corev1.Event
	options := metav1.ListOptions{FieldSelector: "reason=FailedCreate", Limit: pageSize}
	for {
		page, err := c.Clients.CoreV1().Events(c.Namespace).List(ctx, options)
		if err != nil {
			return []Check{unread(refusalsSection, "denied by usher", "list events in "+c.where(), err)}
		}
		events = append(events, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" || len(events) >= mostEvents {
			return refusalChecks(refusalsOf(events, c.Now), c.where(), c.logs("webhook"), options.Continue != "")
		}
	}
}

// refusalsOf selects the Events of the last hour that name one of usher's webhooks,
// one for each owner and reason.
func refusalsOf(events []corev1.Event, now time.Time) []refusal {
	var found []refusal
	for i := range events {
		e := &events[i]
		at := slices.MaxFunc([]time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time}, time.Time.Compare)
		count := max(e.Count, 1)
		if e.Series != nil {
			at, count = e.Series.LastObservedTime.Time, max(e.Series.Count, 1)
		}
		if e.Reason != "FailedCreate" || now.Sub(at) > lookBack {
			continue
		}
		read, ok := refused.ByUsher(e.Message)
		if !ok {
			continue
		}
		r := refusal{
			namespace: e.InvolvedObject.Namespace, owner: strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name,
			reason: read.Said, unreachable: read.Unreached, count: count,
		}
		same := func(o refusal) bool {
			return o.namespace == r.namespace && o.owner == r.owner && o.reason == r.reason && o.unreachable == r.unreachable
		}
		if at := slices.IndexFunc(found, same); at >= 0 {
			found[at].count += r.count
			continue
		}
		found = append(found, r)
	}
	return found
}

// refusalChecks reports denials, which usher is there for, apart from pods that the
// API server refused because it could not call usher.
func refusalChecks(found []refusal, where, logs string, truncated bool) []Check {
	denied := Check{Section: refusalsSection, Name: "denied by usher", State: OK, Message: "none in the last hour in " + where}
	unreachable := Check{Section: refusalsSection, Name: "usher not reached", State: OK, Message: "none in the last hour in " + where}
	if truncated {
		more := fmt.Sprintf("; more than %d Events, of which the rest was not read", mostEvents)
		denied.Message += more
		unreachable.Message += more
	}
	var deniedOwners, unreachableOwners, remedies []string
	var times int32
	reason := ""
	for _, r := range found {
		owner := fmt.Sprintf("%s in %s", r.owner, r.namespace)
		if r.unreachable {
			unreachableOwners, reason = append(unreachableOwners, owner), r.reason
			continue
		}
		times += r.count
		deniedOwners = append(deniedOwners, fmt.Sprintf("%s (%s)", owner, short(r.reason)))
		if remedy := fmt.Sprintf("usher explain %s -n %s", r.owner, r.namespace); !slices.Contains(remedies, remedy) && len(remedies) < 5 {
			remedies = append(remedies, remedy)
		}
	}
	if len(deniedOwners) > 0 {
		denied.State = Warning
		denied.Message = fmt.Sprintf("%s in the last hour: %s", finding.Count(int(times), "attempt"), few(sorted(deniedOwners)))
		denied.Remedy = strings.Join(remedies, "\n")
	}
	if len(unreachableOwners) > 0 {
		unreachable.State = Failed
		unreachable.Message = fmt.Sprintf("the API server could not call usher for pods of %s: %s", few(sorted(unreachableOwners)), short(reason))
		unreachable.Remedy = logs
	}
	return []Check{denied, unreachable}
}

// short is the beginning of a long text.
func short(text string) string {
	const most = 160
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}
