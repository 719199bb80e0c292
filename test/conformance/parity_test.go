// Package conformance compares what usher says with what a real API server
// does.
package conformance

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

// An outcome is what both said about an object.
type outcome struct {
	object
	server verdict
	// refusing are our findings that say the server refuses.
	refusing []finding.Finding
	// other are findings of level invariant that do not.
	other []finding.Finding
	err   error
}

func (o *outcome) agrees() bool { return o.server.accepted == (len(o.refusing) == 0) }

// cause is the server's, or that of our finding where it accepts.
func (o *outcome) cause() string {
	if !o.server.accepted {
		return "missed: " + o.kind + " " + o.server.cause
	}
	if len(o.refusing) > 0 {
		return "invented: " + o.kind + " " + o.refusing[0].Rule + " " + indexes.ReplaceAllString(o.refusing[0].Field, "")
	}
	return "accepted"
}

func judge(t *testing.T, objects []object) []outcome {
	t.Helper()
	e, err := rules.New(policies.Options{Level: finding.Invariant})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make([]outcome, len(objects))
	next := make(chan int)
	var wait sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				o := &outcomes[i]
				o.object = objects[i]
				o.server, o.err = server.create(context.Background(), o.apiVersion, o.kind, o.namespace, o.raw)
				for _, f := range e.Evaluate(e.Decode(o.apiVersion, o.kind, o.raw), policies.Input{}) {
					if f.RefusedByServer {
						o.refusing = append(o.refusing, f)
					} else {
						o.other = append(o.other, f)
					}
				}
			}
		})
	}
	for i := range objects {
		next <- i
	}
	close(next)
	wait.Wait()
	for i := range outcomes {
		if outcomes[i].err != nil {
			t.Fatalf("%s: %v", outcomes[i].from, outcomes[i].err)
		}
	}
	return outcomes
}

func TestFixturesAreJudgedAsTheServerJudgesThem(t *testing.T) {
	for _, o := range judge(t, fixtures(t, "*")) {
		if !o.agrees() {
			t.Errorf("%s: %s: the server says %q, usher %v", o.from, o.cause(), o.server.message, o.refusing)
		}
	}
}

// acceptedInvariants are the rules of level invariant about objects that the
// server accepts and that cannot work all the same.
var acceptedInvariants = []string{
	"backup-endpoint", "backup-path", "backup-policy", "backup-storage", "cronjob-deadline-zero", "cronjob-impossible",
	"etcd-auto-restore", "etcd-claim", "etcd-reserved-env", "job-deadline-zero", "network-cidr", "network-gateway", "restore-running", "sts-name-52",
}

func TestInvariantsThatTheServerAcceptsAreFewAndNamed(t *testing.T) {
	var got []string
	for _, r := range rules.All() {
		if r.Level == finding.Invariant && !r.RefusedByServer {
			got = append(got, r.ID)
		}
	}
	if !slices.Equal(got, acceptedInvariants) {
		t.Errorf("rules of level invariant that the server accepts: %v, want %v", got, acceptedInvariants)
	}
}

func TestVariationsAreJudgedAsTheServerJudgesThem(t *testing.T) {
	n, seed := 1500, uint64(1)
	if text := os.Getenv("USHER_VARIATIONS"); text != "" {
		n = number(t, text)
	}
	if text := os.Getenv("USHER_SEED"); text != "" {
		seed = uint64(number(t, text))
	}
	var valid []object
	for _, o := range judge(t, fixtures(t, "allow")) {
		if !o.server.accepted || !o.agrees() || policies.LooksAt(o.apiVersion, o.kind) {
			continue
		}
		valid = append(valid, o.object)
		// Objects with many fields have more to vary.
		for range len(o.raw) / 1000 * 10 {
			valid = append(valid, o.object)
		}
	}
	known := readKnown(t)
	agreed, refused := 0, 0
	causes := map[string][2]int{}
	examples := map[string]outcome{}
	outcomes := judge(t, variations(seed, n, valid))
	for _, o := range outcomes {
		c := causes[o.cause()]
		c[1]++
		if o.agrees() {
			agreed++
			c[0]++
		} else if _, ok := examples[o.cause()]; !ok {
			examples[o.cause()] = o
		}
		causes[o.cause()] = c
		if !o.server.accepted {
			refused++
		}
	}
	share := 100 * float64(agreed) / float64(len(outcomes))
	t.Logf("seed %d: %d variations, %d refused by the server; agreement %.2f %%", seed, len(outcomes), refused, share)
	for _, cause := range slices.SortedFunc(maps.Keys(causes), func(a, b string) int {
		return cmp.Or(cmp.Compare(causes[b][1], causes[a][1]), cmp.Compare(a, b))
	}) {
		c := causes[cause]
		t.Logf("%5d of %5d agree  %s", c[0], c[1], cause)
		o, ok := examples[cause]
		if ok && decided(cause) {
			t.Errorf("disagreement where there must be none: %s\n%s\nserver: %s\nusher: %v", cause, o.from, o.server.message, o.refusing)
		} else if ok && known.reason(cause) == "" {
			t.Errorf("disagreement without a reason in %s: %s\n%s\nserver: %s\nusher: %v", knownFile, cause, o.from, o.server.message, o.refusing)
		}
	}
	if share < 95 {
		t.Errorf("agreement is %.2f %%, below 95 %%", share)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%q is no number", text)
	}
	return n
}

// knownFile lists the causes of disagreement that are known, with the reasons.
const knownFile = "testdata/disagreements.txt"

type knownCause struct{ pattern, reason string }

type knownCauses []knownCause

// readKnown reads lines of the form "pattern: reason", where a pattern matches
// causes as file names are matched.
func readKnown(t *testing.T) knownCauses {
	t.Helper()
	f, err := os.Open(knownFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var known knownCauses
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, reason, ok := strings.Cut(line, " -- ")
		if _, err := path.Match(pattern, ""); !ok || err != nil || reason == "" {
			t.Fatalf("%s:%d: %q is not of the form: pattern -- reason", knownFile, n, line)
		}
		known = append(known, knownCause{pattern, reason})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(fmt.Errorf("reading %s: %w", knownFile, err))
	}
	return known
}

func (k knownCauses) reason(cause string) string {
	for _, c := range k {
		if ok, _ := path.Match(c.pattern, strings.ReplaceAll(cause, "/", ".")); ok {
			return c.reason
		}
	}
	return ""
}

// decided reports whether a cause is about a field for which there is a rule of
// its own, whoever saw it.
func decided(cause string) bool {
	for _, field := range decidedFields {
		if strings.HasSuffix(cause, field) {
			return true
		}
	}
	return false
}

// decidedFields are those that the rules about refused objects are for: usher
// and the server must agree on them always.
var decidedFields = []string{
	"spec.restartPolicy", ".completionMode", ".completions", ".parallelism", ".backoffLimit", ".backoffLimitPerIndex", ".maxFailedIndexes",
	".activeDeadlineSeconds", ".ttlSecondsAfterFinished", ".successPolicy", ".podFailurePolicy", ".podReplacementPolicy",
	"spec.schedule", "spec.timeZone", "spec.selector", ".manualSelector", ".maxSurge", ".maxUnavailable", ".progressDeadlineSeconds",
	"livenessProbe.successThreshold", "startupProbe.successThreshold", "rollingUpdate",
}
