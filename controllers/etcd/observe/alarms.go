package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/usher-dev/usher/etcd/plan"
)

// raisedBy finds the member in the text of an alarm.
var raisedBy = regexp.MustCompile(`memberID:(\d+)`)

// readAlarms reads the alarms, which every member knows of all members.
func (f *reading) readAlarms() {
	names := f.namesByID()
	raise := func(a plan.Alarm, name string) {
		if f.Alarms == nil {
			f.Alarms = map[plan.Alarm][]string{}
		}
		if !slices.Contains(f.Alarms[a], name) {
			f.Alarms[a] = append(f.Alarms[a], name)
			slices.Sort(f.Alarms[a])
		}
	}
	for name, a := range f.parts.Answers {
		if a.Err != nil || f.found[name].Stranger {
			continue
		}
		f.AlarmsKnown = true
		for _, text := range a.Status.Errors {
			for _, alarm := range plan.Alarms {
				if !strings.Contains(text, "alarm:"+string(alarm)) {
					continue
				}
				raise(alarm, raiser(text, names))
			}
		}
	}
	if f.AlarmsKnown {
		return
	}
	for _, alarms := range f.parts.Health {
		f.AlarmsKnown = true
		for _, alarm := range alarms {
			raise(alarm, "a member")
		}
	}
}

// raiser returns the name of the member that raised an alarm, or its ID.
func raiser(text string, names map[uint64]string) string {
	found := raisedBy.FindStringSubmatch(text)
	if found == nil {
		return "a member"
	}
	id, err := strconv.ParseUint(found[1], 10, 64)
	if err != nil {
		return "a member"
	}
	if name := names[id]; name != "" {
		return name
	}
	return fmt.Sprintf("the former member %s", Hex(id))
}

// askHealth asks the members that refuse the controller's client for alarms: the
// endpoint for probes needs no credentials. Members say there which alarm is
// raised, and not by whom.
func askHealth(ctx context.Context, seen *Observed) map[string][]plan.Alarm {
	var mu sync.Mutex
	health := map[string][]plan.Alarm{}
	var all sync.WaitGroup
	for _, m := range seen.Members {
		p := seen.Pods[m.Name]
		if m.Refusal == "" || p == nil || p.Status.PodIP == "" {
			continue
		}
		all.Go(func() {
			alarms, err := alarmsOf(ctx, p.Status.PodIP)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			health[m.Name] = alarms
		})
	}
	all.Wait()
	return health
}

func alarmsOf(ctx context.Context, address string) ([]plan.Alarm, error) {
	var health struct{ Health, Reason string }
	err := get(ctx, address, "/health?serializable=true", func(body io.Reader) error { return json.NewDecoder(body).Decode(&health) })
	if err != nil {
		return nil, fmt.Errorf("reading a member's health: %w", err)
	}
	var alarms []plan.Alarm
	for _, a := range plan.Alarms {
		if health.Reason == "ALARM "+string(a) {
			alarms = append(alarms, a)
		}
	}
	return alarms, nil
}
