package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/usher-dev/usher/cli/units"
)

// WorkerCommand is the first argument of a worker process.
const WorkerCommand = "render-units"

// exhausted is the exit status of a worker that needs too much memory.
const exhausted = 3

// Work renders the units that are requested on in, one after another, until it is
// closed. It changes the process: nothing else should run there.
func Work(in io.Reader, out io.Writer) error {
	isolate()
	go limitMemory()
	requests, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r Request
		switch err := requests.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		}
		// The process that asked ends this one earlier, unless it is gone itself.
		late := time.AfterFunc(6*Timeout, func() { os.Exit(1) })
		result := rendered(r)
		late.Stop()
		if err := results.Encode(result); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
		debug.FreeOSMemory() // the next unit must not pay for this one
	}
}

// rendered renders a unit. A panic of a library is about this unit.
func rendered(r Request) (result *Result) {
	values := &given{}
	defer func() {
		if reason := recover(); reason != nil {
			result = &Result{Err: values.conceal(fmt.Sprintf("rendering it panics: %v", reason))}
		}
	}()
	render := renderKustomization
	if r.Kind == units.Chart {
		render = renderChart
	}
	result, err := render(r, values)
	if err != nil {
		return &Result{Err: values.conceal(err.Error())}
	}
	size := 0
	for _, o := range result.Objects {
		size += len(o.Text)
	}
	if size > MaxOutput {
		return &Result{Err: fmt.Sprintf("it renders to more than %d MiB", MaxOutput>>20)}
	}
	return result
}

// isolate keeps the libraries from the network, other programs and standard error.
func isolate() {
	http.DefaultTransport = noNetwork{}
	http.DefaultClient = &http.Client{Transport: noNetwork{}}
	_ = os.Setenv("PATH", "") // kustomize looks for git
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
}

type noNetwork struct{}

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("usher does not use the network: %s", r.URL.Redacted())
}

// limitMemory ends the process when it needs more than MaxMemory.
func limitMemory() {
	debug.SetMemoryLimit(MaxMemory * 3 / 4)
	debug.SetGCPercent(400) // the limit holds with less work for most units
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > MaxMemory {
			os.Exit(exhausted)
		}
	}
}
