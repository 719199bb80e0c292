//go:build e2e

package e2e_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/cluster/node"
)

// cronJob returns one with a finding, because it can never run or hangs after
// the first Job that does, or one without.
func cronJob(name, spec string) string {
	return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: ` + name + `}, spec: {` + spec + `, suspend: true,
jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: 'node.local/app:e2e'}]}}}}}}`
}

const (
	never = `schedule: "0 0 31 2 *"`                              // invariant
	hangs = `schedule: "0 0 * * *", concurrencyPolicy: Forbid`    // baseline
	loose = `schedule: "0 0 1 * *", concurrencyPolicy: "Replace"` // strict
)

// TestKubectlTellsWhatAPolicyRefusesAndWarnsOf applies objects that break a
// rule of each level.
func TestKubectlTellsWhatAPolicyRefusesAndWarnsOf(t *testing.T) {
	t.Parallel()
	c := shared
	tests := map[string]struct {
		labels         map[string]string
		spec           string
		refused, warns string // what kubectl prints
	}{
		"by default what cannot work is refused": {
			spec:    never,
			refused: `denied the request: cronjob-impossible: spec.schedule: schedule is "0 0 31 2 *", which never comes: write a day that the month has`,
		},
		"by default what will hurt is warned of": {
			spec:  hangs,
			warns: `Warning: cronjob-forbid-hang: spec.`,
		},
		"what will hurt is refused where that is enforced": {
			labels:  map[string]string{wellknown.LabelEnforce: "baseline"},
			spec:    hangs,
			refused: `admission webhook "enforced.policy.usher.dev" denied the request: cronjob-forbid-hang: spec.`,
		},
		"good practice is warned of where that is asked for": {
			labels: map[string]string{wellknown.LabelWarn: "strict"},
			spec:   loose,
			warns:  `Warning: cronjob-no-deadline: spec.`,
		},
		"nothing is refused where enforcement is off": {
			labels: map[string]string{wellknown.LabelEnforce: "off", wellknown.LabelWarn: "invariant"},
			spec:   never,
			warns:  `Warning: cronjob-impossible: spec.schedule: `,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ns := c.namespace(t, tt.labels)
			// The API server's selectors may receive the label a moment later.
			var out string
			var err error
			c.until(t, "the namespace is judged as labelled", func() bool {
				out, err = c.node.Kubectl(t.Context(), "---\n"+cronJob("work", tt.spec), "apply", "-n", ns, "-f", "-", "--dry-run=server")
				return (err != nil) == (tt.refused != "")
			})
			if out, err = c.tryApply(t, ns, cronJob("work", tt.spec)); tt.refused == "" && err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if tt.refused != "" && (err == nil || !strings.Contains(out, tt.refused)) {
				t.Errorf("got %v, want a denial with %q:\n%s", err, tt.refused, out)
			}
			if !strings.Contains(out, tt.warns) {
				t.Errorf("kubectl does not print %q:\n%s", tt.warns, out)
			}
			if tt.refused == "" && !strings.Contains(out, "cronjob.batch/work created") {
				t.Errorf("kubectl does not tell that it was created:\n%s", out)
			}
		})
	}
}

// TestTheAuditLogHasWhatANamespaceAsksToAudit reads the audit log for findings
// that neither refuse nor warn.
func TestTheAuditLogHasWhatANamespaceAsksToAudit(t *testing.T) {
	t.Parallel()
	c := shared
	log, err := c.node.AuditLog()
	if errors.Is(err, node.ErrNoMachine) {
		t.Skip(err)
	}
	ns := c.namespace(t, map[string]string{wellknown.LabelEnforce: "invariant", wellknown.LabelWarn: "off", wellknown.LabelAudit: "baseline"})
	c.until(t, "the namespace is judged as labelled", func() bool {
		out, err := c.node.Kubectl(t.Context(), "---\n"+cronJob("work", hangs), "apply", "-n", ns, "-f", "-", "--dry-run=server")
		return err == nil && !strings.Contains(out, "Warning")
	})
	c.apply(t, ns, cronJob("audited", hangs))
	c.until(t, "the audit log has the finding", func() bool {
		for key, value := range annotations(t, log, ns, "audited") {
			if strings.HasSuffix(key, ".policy.usher.dev/findings") && strings.Contains(value, "cronjob-forbid-hang") {
				return true
			}
		}
		return false
	})
}

// annotations returns the webhooks' annotations for an object in the audit log.
func annotations(t *testing.T, log, namespace, name string) map[string]string {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			ObjectRef   struct{ Namespace, Name string }
			Annotations map[string]string
		}
		// The last line may be incomplete.
		if err := json.Unmarshal(lines.Bytes(), &event); err == nil && event.ObjectRef.Namespace == namespace && event.ObjectRef.Name == name {
			return event.Annotations
		}
	}
	return nil
}
