package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/binaries"
)

// TestDiffLive applies manifests with kubectl, and runs usher to compare others
// with the cluster.
func TestDiffLive(t *testing.T) {
	storageClass(t, newCluster(t))
	dir := t.TempDir()
	kubeconfig := write(t, dir, "kubeconfig", string(plane.Kubeconfig))
	usher, err := binaries.Build("../..", dir, "usher")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(manifest string) {
		t.Helper()
		execute(t, strings.NewReader(manifest), filepath.Join(plane.Assets, "kubectl"), "--kubeconfig", kubeconfig, "apply", "-f", "-")
	}
	apply(liveManifests)

	tests := map[string]struct {
		edits  []string
		args   []string
		status int
		want   []string // object, row, outcome, path
	}{
		"what was applied is unchanged": {},
		"the server's defaults may be written out": {
			edits: []string{"replicas: 2", "replicas: 2\n  revisionHistoryLimit: 10"},
		},
		"another image rolls out": {
			edits: []string{"web:1.0", "web:1.1"},
			want:  []string{"Deployment/live  rollout spec.template.spec.containers[0].image"},
		},
		"a field that is gone from the manifest is removed, though the server has others": {
			edits: []string{"  replicas: 2\n", ""}, want: []string{"Deployment/live deploy-replicas-unset in steps spec.replicas"},
		},
		"a Job's template is fixed, its generated labels are not a change": {
			edits: []string{"import:1.0", "import:1.1"}, status: 1,
			want: []string{"Job/live job-template recreate spec.template.spec.containers[0].image"},
		},
		"an address that the server gave stays": {
			edits: []string{"port: 80", "port: 81"}, want: []string{"Service/live  in place spec.ports[0]", "Service/live svc-port-removed in place spec.ports[0]"},
		},
		"an address that the server gave cannot be changed": {
			edits: []string{"  ports:", "  clusterIP: None\n  ports:"}, status: 1,
			want: []string{"Service/live svc-cluster-ip recreate spec.clusterIP"},
		},
		"a claim that is not bound does not grow": {
			edits: []string{"storage: 1Gi", "storage: 2Gi"}, status: 1,
			want: []string{"PersistentVolumeClaim/live pvc-grow-unbound recreate spec.resources.requests[storage]"},
		},
		"by default the cluster's version counts": {
			edits:  []string{"image: registry.example/held:1.0", "image: registry.example/held:1.0, resources: {requests: {cpu: 1}}"},
			status: ofVersions("1.36", 1, 0),
			want: []string{ofVersions("1.36", "Job/held job-template recreate spec.template.spec.containers[0].resources.requests[cpu]",
				"Job/held job-suspended-resources in place spec.template.spec.containers[0].resources.requests[cpu]")},
		},
		"an older server is asked about by its version": {
			edits: []string{"image: registry.example/held:1.0", "image: registry.example/held:1.0, resources: {requests: {cpu: 1}}"},
			args:  []string{"--kubernetes-version", "1.35"}, status: 1,
			want: []string{"Job/held job-template recreate spec.template.spec.containers[0].resources.requests[cpu]"},
		},
		"an object that is not there is created": {
			edits: []string{"kind: Deployment\nmetadata: {name: live}", "kind: Deployment\nmetadata: {name: fresh}"}, want: []string{"Deployment/fresh created"},
		},
		"so it is in another namespace": {
			args: []string{"-n", "kube-public"},
			want: []string{"Deployment/live created", "Job/live created", "Service/live created", "PersistentVolumeClaim/live created", "Job/held created"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := liveManifests
			for i := 0; i < len(tc.edits); i += 2 {
				if !strings.Contains(manifest, tc.edits[i]) {
					t.Fatalf("the manifest has no %q", tc.edits[i])
				}
				manifest = strings.Replace(manifest, tc.edits[i], tc.edits[i+1], 1)
			}
			file := write(t, t.TempDir(), "new.yaml", manifest)
			status, stdout, stderr := diffLive(t, usher, kubeconfig, file, tc.args...)
			if stderr = withoutNote(stderr); status != tc.status || stderr != "" {
				t.Errorf("status %d, want %d; stderr %s", status, tc.status, stderr)
			}
			if diff := cmp.Diff(tc.want, changes(t, stdout)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// ofVersions is the value for the plane's server: one for those before a version,
// and one for the others.
func ofVersions[T any](since string, before, after T) T {
	if later(since) {
		return before
	}
	return after
}

// withoutNote removes the note about versions that usher does not judge exactly.
func withoutNote(stderr string) string {
	return regexp.MustCompile(`(?m)^validation is .*\n`).ReplaceAllString(stderr, "")
}

// diffLive runs usher diff --live.
func diffLive(t *testing.T, usher, kubeconfig, file string, args ...string) (status int, stdout []byte, stderr string) {
	t.Helper()
	return exitOf(t, usher, append([]string{"diff", "--live", file, "--kubeconfig", kubeconfig, "-o", "json"}, args...)...)
}

// exitOf runs a program that may fail.
func exitOf(t *testing.T, program string, args ...string) (status int, stdout []byte, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return status, out.Bytes(), errs.String()
}

// changes shortens usher's report: one line per change, or per missing object.
func changes(t *testing.T, data []byte) (lines []string) {
	t.Helper()
	var report struct {
		Objects []struct {
			Kind, Name, Action string
			Changes            []struct{ Row, Outcome, Path string }
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	for _, o := range report.Objects {
		for _, c := range o.Changes {
			lines = append(lines, fmt.Sprintf("%s/%s %s %s %s", o.Kind, o.Name, c.Row, c.Outcome, c.Path))
		}
		if o.Action != "changed" && o.Action != "unchanged" {
			lines = append(lines, fmt.Sprintf("%s/%s %s", o.Kind, o.Name, o.Action))
		}
	}
	return lines
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func execute(t *testing.T, stdin *strings.Reader, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

const liveManifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: live}
spec:
  replicas: 2
  selector: {matchLabels: {app: live}}
  template:
    metadata: {labels: {app: live}}
    spec:
      containers:
      - {name: web, image: registry.example/web:1.0}
---
apiVersion: batch/v1
kind: Job
metadata: {name: live}
spec:
  template:
    spec:
      containers: [{name: import, image: registry.example/import:1.0}]
      restartPolicy: Never
---
apiVersion: v1
kind: Service
metadata: {name: live}
spec:
  selector: {app: live}
  ports:
  - port: 80
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: live}
spec:
  storageClassName: expandable
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: held}
spec:
  suspend: true
  template:
    spec:
      containers: [{name: held, image: registry.example/held:1.0}]
      restartPolicy: Never
`
