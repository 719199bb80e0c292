// Command suite runs `go test` over modules of this repository and ends with a
// summary: the slowest packages, the tests that could not run and why, and the
// result.
//
//	go run ./test/suite [-modules .,FOLDER] [-shared] [GO TEST ARGUMENTS]
//
// With -shared it first builds the programs that tests run, and starts one API
// server for the packages that can share it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// errFailed means that a test failed, which the report has shown.
var errFailed = errors.New("tests failed")

// options are what the command line asks for.
type options struct {
	modules   []string
	shared    bool
	all       bool   // fail if a test could not run
	couldNot  string // file for the packages with tests that could not run
	arguments []string
}

func main() {
	var o options
	modules := flag.String("modules", ".", "folders of the modules to test, comma-separated; all are tested at once")
	flag.BoolVar(&o.shared, "shared", false, "build the programs that tests run, and start an API server for the packages that can share one")
	flag.BoolVar(&o.all, "all", false, "fail if a test could not run")
	flag.StringVar(&o.couldNot, "could-not-run", "", "write the packages with tests that could not run to this file")
	flag.Parse()
	o.modules, o.arguments = strings.Split(*modules, ","), flag.Args()
	if _, set := os.LookupEnv("GOGC"); !set {
		// A fifth of the tests' processor time is garbage collection, in the API
		// servers and the tests.
		if err := os.Setenv("GOGC", "400"); err != nil {
			fmt.Fprintln(os.Stderr, "suite:", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	environment := os.Environ()
	if o.shared {
		shared, stop, err := prepare(ctx, os.Stderr)
		if err != nil {
			return err
		}
		defer stop()
		environment = append(environment, shared...)
	}
	start := time.Now()
	r := newReport(os.Stdout, verbose(o.arguments))
	done := make(chan error)
	for _, module := range o.modules {
		go func() { done <- test(ctx, module, o.arguments, environment, r) }()
	}
	var errs []error
	for range o.modules {
		errs = append(errs, <-done)
	}
	r.summarize(time.Since(start))
	if o.couldNot != "" {
		errs = append(errs, os.WriteFile(o.couldNot, []byte(strings.Join(r.couldNotRun(), "\n")), 0o644))
	}
	if o.all && len(r.skipped) > 0 {
		errs = append(errs, fmt.Errorf("%d tests could not run", len(r.skipped)))
	}
	return errors.Join(errs...)
}

// test runs go test in a module and passes every event to the report.
func test(ctx context.Context, module string, arguments, environment []string, r *report) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, arguments...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = module, environment, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := r.read(events)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w in module %s: go test: %w", errFailed, module, err)
	}
	return read
}

// verbose reports whether go test prints the output of passing tests.
func verbose(arguments []string) bool {
	for _, a := range arguments {
		if a == "-v" || a == "-v=true" || a == "-test.v" {
			return true
		}
		if a == "-args" {
			return false
		}
	}
	return false
}
