package rules

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// zonePart is one component of the name of a time zone.
var zonePart = regexp.MustCompile(`^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$`)

// cronjob-timezone: timeZone is empty, unknown or "Local".
//
// Names are those of the IANA database that is built into the API server and
// the controller, as it is into usher. Local would be the zone of whatever
// machine the controller runs on.
func init() {
	register(policies.Rule{
		ID:              "cronjob-timezone",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"CronJob"},
		Summary:         "timeZone is empty, unknown or Local",
		Harm:            "the API server refuses the object",
		Fix:             "write a name of the IANA time zone database, such as Europe/Berlin or Etc/UTC, or leave it out",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if zone := c.Spec.TimeZone; zone != nil && !validZone(*zone) {
				p.Report(field.NewPath("spec", "timeZone"), *zone, "timeZone is "+strconv.Quote(*zone)+", which is no time zone: write a name such as Europe/Berlin or Etc/UTC, or leave it out")
			}
		}),
	})
}

func validZone(name string) bool {
	if name == "" || strings.EqualFold(name, "Local") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." || !zonePart.MatchString(part) {
			return false
		}
	}
	_, err := time.LoadLocation(name)
	return err == nil
}
