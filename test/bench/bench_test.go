package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestASectionReplacesWhatItsMarksHoldAndNothingElse(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "performance.md")
	const document = "before\n<!-- measured: a -->\nold\n<!-- end: a -->\nbetween\n<!-- measured: b -->\nkept\n<!-- end: b -->\nafter\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (section{text: "\nnew\n"}).write(folder, "a"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(document, "old", "new", 1); string(got) != want {
		t.Errorf("got %q", got)
	}
	if err := (section{}).write(folder, "c"); err == nil {
		t.Error("a section without marks is written")
	}
}

func TestAProcessTellsItsProcessorTimeAndMemory(t *testing.T) {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := &process{Cmd: &exec.Cmd{Process: p}}
	before, err := own.cpu()
	if err != nil {
		t.Fatal(err)
	}
	timed(func() {})
	after, err := own.cpu()
	if err != nil || after <= before {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
	if peak, err := own.memory(peakLine); err != nil || peak < 1 {
		t.Errorf("peak of %v MiB, %v", peak, err)
	}
}

func TestTheMedianOfRatiosIsNotMovedByOneRound(t *testing.T) {
	c := comparison{
		baseline: []sample{{rate: 10}, {rate: 10}, {rate: 1}},
		usher:    []sample{{rate: 5}, {rate: 5}, {rate: 50}},
	}
	if got := c.ratio(rate); got != 2 {
		t.Errorf("got %v", got)
	}
}

// TestAProgramThatLacksAReviewIsLeftOutOfItsRow races this process against
// itself, with a server that does not know the path.
func TestAProgramThatLacksAReviewIsLeftOutOfItsRow(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	serves := func(h http.Handler) *process {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s := httptest.NewTLSServer(h)
		t.Cleanup(s.Close)
		return &process{Cmd: &exec.Cmd{Process: self}, address: s.Listener.Addr().String(), log: log}
	}
	yes, no := serves(echo("")), serves(http.NotFoundHandler())
	w := recordedWork{name: "a review", path: "/mutate", bodies: [][]byte{[]byte(`{"uid":"a"}`), []byte(`{"uid":"b"}`)}, atOnce: 2}
	b := &bench{rounds: 1}
	spent, err := b.race(t.Context(), w, 2, []*process{yes, yes, no, yes})
	if err != nil || len(spent[0]) != 1 || len(spent[1]) != 1 || spent[2] != nil || len(spent[3]) != 1 {
		t.Errorf("%v, %v; want a round of all but the third", spent, err)
	}
	if _, err := b.race(t.Context(), w, 2, []*process{yes, no, yes}); err == nil {
		t.Error("today's program may lack a review")
	}
}

func TestChild_FindsAProcessByItsNameAmongItsOwn(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = sleep.Process.Kill(), sleep.Wait() })
	got, err := child("sleep")
	if err != nil || got.Process.Pid != sleep.Process.Pid {
		t.Errorf("got %v, %v; want process %d", got, err, sleep.Process.Pid)
	}
	if got, err := child("kube-apiserver"); err == nil {
		t.Errorf("a process that nothing started is %d", got.Process.Pid)
	}
}

func TestParseConditions_CountsEvaluationsOfCreationsByWebhook(t *testing.T) {
	const metrics = `# TYPE apiserver_admission_match_condition_evaluation_seconds histogram
apiserver_admission_match_condition_evaluation_seconds_bucket{kind="webhook",name="a.b.c",operation="CREATE",type="admit",le="0.001"} 9
apiserver_admission_match_condition_evaluation_seconds_sum{kind="webhook",name="a.b.c",operation="CREATE",type="admit"} 0.0005
apiserver_admission_match_condition_evaluation_seconds_count{kind="webhook",name="a.b.c",operation="CREATE",type="admit"} 10
apiserver_admission_match_condition_evaluation_seconds_sum{kind="webhook",name="a.b.c",operation="UPDATE",type="admit"} 7
apiserver_admission_match_condition_evaluation_seconds_count{kind="webhook",name="a.b.c",operation="UPDATE",type="admit"} 7
`
	got, err := parseConditions([]byte(metrics))
	if want := (evaluated{10, 500 * time.Microsecond}); err != nil || len(got) != 1 || got["a.b.c"] != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	table := conditionsTable(map[string]evaluated{"a.b.c": {8, 400 * time.Microsecond}, "d.e.f": {1, 1}}, map[string]evaluated{"a.b.c": got["a.b.c"], "d.e.f": {1, 1}})
	if !strings.HasSuffix(table, "| a.b.c | 2 | 50.0 |\n") {
		t.Errorf("got\n%s", table)
	}
}
