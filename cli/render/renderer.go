package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Renderer renders units in worker processes, which it starts when it needs them.
type Renderer struct {
	// Command starts a worker; by default it is this program with WorkerCommand.
	Command []string
	// Timeout replaces the limit of time, if it is set.
	Timeout time.Duration

	mu   sync.Mutex
	idle []*worker
}

// worker is a process that renders one unit at a time.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// Render renders a unit. The error says why it cannot be rendered.
func (r *Renderer) Render(ctx context.Context, request Request) (*Result, error) {
	w, err := r.take()
	if err != nil {
		return nil, fmt.Errorf("starting a process to render it: %w", err)
	}
	limit := cmp.Or(r.Timeout, Timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	result, err := w.render(request)
	if !stop() && err == nil { // the worker was killed after it had answered
		w.end()
		return result, nil
	}
	if err != nil {
		return nil, w.why(ctx, limit, err)
	}
	if result.Err != "" {
		err = errors.New(result.Err)
	}
	r.mu.Lock()
	r.idle = append(r.idle, w)
	r.mu.Unlock()
	return result, err
}

// Close ends the workers.
func (r *Renderer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.idle {
		w.end()
	}
	r.idle = nil
}

func (r *Renderer) take() (*worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return w, nil
	}
	command := r.Command
	if len(command) == 0 {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{program, WorkerCommand}
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // it is this program
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &worker{cmd: cmd, in: in, out: json.NewDecoder(out)}, nil
}

func (w *worker) render(request Request) (*Result, error) {
	if err := json.NewEncoder(w.in).Encode(request); err != nil {
		return nil, err
	}
	result := &Result{}
	return result, w.out.Decode(result)
}

// why explains why a worker did not answer, and ends it.
func (w *worker) why(ctx context.Context, limit time.Duration, err error) error {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("rendering it takes more than %s", limit)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.cmd.ProcessState.ExitCode() == exhausted:
		return fmt.Errorf("rendering it takes more than %d MiB of memory", MaxMemory>>20)
	}
	return fmt.Errorf("the process that renders it ended (%s): %w", w.cmd.ProcessState, err)
}

// end ends a worker that is not at work.
func (w *worker) end() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}
