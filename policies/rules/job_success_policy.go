package rules

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-success-policy: a success policy that can never be met, or cannot be
// read.
//
// Each rule names indexes, as in 0-2,5, or a count, or both; none may exceed
// completions, and a count none of the indexes beside it.
func init() {
	register(policies.Rule{
		ID:              "job-success-policy",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "A Job's success policy cannot be met or read",
		Harm:            "the API server refuses the object",
		Fix:             "write 1 to 20 rules, each with succeededIndexes in ascending order, a succeededCount, or both, within completions",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.SuccessPolicy == nil || !indexed(job) {
				return
			}
			rules, path := job.SuccessPolicy.Rules, path.Child("successPolicy", "rules")
			if len(rules) == 0 || len(rules) > 20 {
				p.Report(path, len(rules), "rules has "+strconv.Itoa(len(rules))+" entries: write 1 to 20")
			}
			if n := completed(p, job); n != nil {
				for i := range rules {
					successRule(p, &rules[i], *n, path.Index(i))
				}
			}
		}),
	})
}

func successRule(p *policies.Pass, rule *batchv1.SuccessPolicyRule, completions int32, path *field.Path) {
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		p.Report(path, nil, subject(path, "")+" names neither succeededIndexes nor succeededCount: write one or both")
		return
	}
	named := int64(-1)
	if text := rule.SucceededIndexes; text != nil {
		n, problem := countIndexes(*text, int64(completions))
		if problem != "" {
			p.Report(path.Child("succeededIndexes"), *text, "succeededIndexes is "+strconv.Quote(*text)+", but "+problem+": write ascending indexes below completions, as in 0-2,5")
		} else {
			named = n
		}
	}
	count := rule.SucceededCount
	if count == nil {
		return
	}
	negative(p, path, "succeededCount", count)
	if *count > completions {
		p.Report(path.Child("succeededCount"), *count, "succeededCount is "+printed(*count)+", more than the "+printed(completions)+" completions: write at most that")
	} else if named >= 0 && int64(*count) > named {
		p.Report(path.Child("succeededCount"), *count, "succeededCount is "+printed(*count)+", more than the "+printed(named)+" indexes named beside it: write at most that")
	}
}

// countIndexes counts the indexes of a list such as 0-2,5.
func countIndexes(text string, completions int64) (count int64, problem string) {
	if len(text) > 64*1024 {
		return 0, "it is longer than 64 KiB"
	}
	if text == "" {
		return 0, ""
	}
	last := int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		low, high, interval := strings.Cut(part, "-")
		if !interval {
			high = low
		}
		from, err := strconv.ParseInt(low, 10, 32)
		to, err2 := strconv.ParseInt(high, 10, 32)
		switch {
		case err != nil || err2 != nil:
			return 0, strconv.Quote(part) + " is no index or interval"
		case from >= completions || to >= completions:
			return 0, part + " reaches completions, which is " + printed(completions)
		case from <= last || to < from || interval && to == from:
			return 0, part + " does not ascend"
		}
		count, last = count+to-from+1, to
	}
	return count, ""
}
