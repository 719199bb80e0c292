package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/etcd"
)

const versionSection = "versions"

// sound is the first patch of 3.5 that does not corrupt data when it crashes:
// etcd's maintainers recommend none of the earlier ones.
var sound = etcd.Version{Major: 3, Minor: 5, Patch: 3}

// versions checks which versions run, and which of them have known defects.
func versions(o *Observation) []status.Check {
	var all []etcd.Version
	running := map[etcd.Version][]string{}
	for _, e := range o.answering() {
		v := e.status().Version
		if running[v] == nil {
			all = append(all, v)
		}
		running[v] = append(running[v], o.called(e.Status.Member))
	}
	if len(all) == 0 {
		return []status.Check{{Section: versionSection, Name: "versions", State: status.Unknown, Message: "no member said its status"}}
	}
	slices.SortFunc(all, etcd.Version.Compare)
	newest := all[len(all)-1]
	var checks []status.Check
	if len(all) == 1 {
		checks = append(checks, status.Check{Section: versionSection, Name: "versions", State: status.OK, Message: "every member that answers runs " + newest.String()})
	} else {
		var parts []string
		for _, v := range all {
			parts = append(parts, fmt.Sprintf("%s %s %s", strings.Join(running[v], ", "), runs(len(running[v])), v))
		}
		checks = append(checks, status.Check{
			Section: versionSection, Name: "versions", State: status.Warning, Message: strings.Join(parts, "; "),
			Remedy: fmt.Sprintf("finish the upgrade: run %s on %s, one member at a time, the leader last", newest, strings.Join(running[all[0]], ", ")),
		})
	}
	for _, v := range all {
		check := status.Check{Section: versionSection, Name: v.String(), State: status.Warning}
		switch latest := v.Nearest(); {
		case v == etcd.Version{}:
			check.Name, check.Message = strings.Join(running[v], ", "), "the version is not a number that usher reads"
		case v.Major == sound.Major && v.Minor == sound.Minor && v.Compare(sound) < 0:
			check.State = status.Failed
			check.Message = "its data can become inconsistent when a member crashes, and etcd's maintainers do not recommend it"
			check.Remedy = fmt.Sprintf("upgrade each member to %s, one at a time", latest)
		case v.CompareMinor(etcd.ZombieFix) == 0 && v.Compare(etcd.ZombieFix) < 0:
			check.Message = fmt.Sprintf("removed members can reappear if it is upgraded to 3.6: upgrade to %s or later before that", etcd.ZombieFix)
			check.Remedy = fmt.Sprintf("upgrade each member to %s, one at a time", latest)
		case !v.Supported() && v.CompareMinor(etcd.ZombieFix) < 0:
			check.Message = "etcd's maintainers no longer correct this minor version"
			check.Remedy = fmt.Sprintf("upgrade one minor version at a time, to %s", latest)
		default:
			continue
		}
		checks = append(checks, check)
	}
	for _, e := range o.answering() {
		if target := e.status().Downgrade; target != "" {
			return append(checks, status.Check{
				Section: versionSection, Name: "downgrade", State: status.Warning, Message: "a downgrade to " + target + " has begun",
				Remedy: lines("run that version on each member, one at a time, or end the downgrade:", o.etcdctl("downgrade cancel")),
			})
		}
	}
	return checks
}

func runs(n int) string {
	if n == 1 {
		return "runs"
	}
	return "run"
}
