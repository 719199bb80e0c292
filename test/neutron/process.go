package neutron

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A process is one of the two servers.
type process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed once it has ended
}

// startProcess starts a server that ends with this process, however that ends.
func startProcess(cmd *exec.Cmd, dir, name string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".out"), cmd: cmd, done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		// The signal is sent when the thread that started it ends, so this one stays
		// as long as the server runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// serves waits until the server answers.
func (p *process) serves(ctx context.Context, url string) error {
	client := http.Client{Timeout: 10 * time.Second}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.done:
			return false, errors.New("it ended")
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		res, err := client.Do(req)
		if err != nil {
			return false, nil
		}
		defer res.Body.Close()
		return res.StatusCode < http.StatusInternalServerError, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s serves: %w\n%s", p.name, err, p.last())
	}
	return nil
}

// last returns the end of the server's output.
func (p *process) last() []byte {
	out, _ := os.ReadFile(p.log)
	return out[max(0, len(out)-2000):]
}

// stop stops the server and its children; a process that was never started
// counts as stopped.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// run runs a command; its error contains the output.
func run(ctx context.Context, cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.Bytes()[max(0, out.Len()-2000):])
	}
	return nil
}
