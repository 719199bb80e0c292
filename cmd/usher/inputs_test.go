package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestStandardInputIsATerminal_UsherSaysThatItWaits opens a pseudo-terminal, at
// which nothing is typed.
func TestStandardInputIsATerminal_UsherSaysThatItWaits(t *testing.T) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	var errs bytes.Buffer
	if err := expectStdin(streams{in: keyboard, err: &errs}, []string{"a.yaml"}, []string{manifest.Stdin}); err != nil {
		t.Fatal(err)
	}
	if want := "Reading manifests from the terminal. Press Ctrl-D after the last line, or Ctrl-C to stop.\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
	for name, s := range map[string]streams{"a pipe": {in: strings.NewReader(""), err: &errs}, "a terminal that is not read": {in: keyboard, err: &errs}} {
		errs.Reset()
		paths := []string{manifest.Stdin}
		if s.in == keyboard {
			paths = []string{"a.yaml"}
		}
		if err := expectStdin(s, paths); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v, stderr %q", name, err, errs.String())
		}
	}
}

// TestWrongFlags_AreReportedTogether names every wrong value, not only the first.
func TestWrongFlags_AreReportedTogether(t *testing.T) {
	file := writeFile(t, "job.yaml", soundJob)
	for line, want := range map[string]string{
		"check -o jsn --level basline --unknown-kinds no": "Error: --level is \"basline\"; did you mean baseline?\n--output is \"jsn\"; did you mean json?\n--unknown-kinds is \"no\"; write ignore, warn or fail\n",
		"check --rule job-restart-polcy --exclude nobody --kubernetes-version new --namespace-labels policy.usher.dev/enforce=hihg,policy.usher.dev/warn=no": "Error: --namespace-labels: label policy.usher.dev/enforce: level \"hihg\" is unknown: write invariant, baseline, strict or off\n" +
			"--namespace-labels: label policy.usher.dev/warn: level \"no\" is unknown: write invariant, baseline, strict or off\n" +
			"--kubernetes-version \"new\" is not a version: write it as 1.34\n" +
			"rule \"job-restart-polcy\" is unknown: did you mean job-restart-policy?\nrule \"nobody\" is unknown: usher rules lists them\n",
		"diff --fail-on recreat -o md": "Error: --fail-on is \"recreat\"; did you mean recreate?\n--output is \"md\"; write text, json, yaml, markdown or html\n",
		"inject --otput json":          "Error: usher inject has no flag --otput: did you mean --output?\n",
	} {
		args := append(strings.Fields(line), file)
		if strings.HasPrefix(line, "diff") {
			args = append(args, file)
		}
		if status, _, errs := invoke("", args...); status != cli.Usage || errs != want {
			t.Errorf("usher %s: status %d, stderr\n%swant\n%s", line, status, errs, want)
		}
	}
}
