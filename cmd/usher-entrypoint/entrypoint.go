package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/usher-dev/usher/cmd/internal/buildinfo"
)

// A command is a first argument, and the program that it names.
type command struct {
	name, program string
	// keep leaves the command in the program's arguments.
	keep bool
	// help describes commands that users write.
	help string
}

var commands = []command{
	{"webhook", "usher-webhook", false, "Serve admission decisions to the API server"},
	{"controller", "usher-controller", false, "Run the controllers of usher's custom resources"},
	{"redirect", "usher-redirect", false, "Redirect a pod's TCP traffic to the proxy in the pod"},
	{"fetch-snapshot", "usher-pod", true, ""},
	{"restore-snapshot", "usher-pod", true, ""},
	{"serve-volume", "usher-pod", true, ""},
	{"serve-bucket", "usher-bucket", false, ""},
	{"test-admission", "usher-pod", true, ""},
}

const usage = 2 // the exit status

// run runs the program that the arguments name and does not return, or returns
// the exit status.
func run(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	var err error
	switch args[0] {
	case "version", "--version":
		_, err = fmt.Fprintln(out, buildinfo.Line())
	case "help", "--help", "-h":
		_, err = io.WriteString(out, help())
	default:
		err = start(args)
	}
	if err != nil {
		fmt.Fprintf(errs, "Error: %v\n", err)
		return usage
	}
	return 0
}

// start replaces this process by the program that the arguments name.
func start(args []string) error {
	program, rest, err := find(args)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the folder with usher's programs: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), program)
	err = syscall.Exec(path, append([]string{path}, rest...), os.Environ())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this image does not contain %s: \"/usher %s\" needs usher's main image, not the one for pods", program, args[0])
	}
	return fmt.Errorf("running %s: %w", path, err)
}

// find returns the program that the arguments name, and its arguments.
func find(args []string) (program string, rest []string, err error) {
	for _, c := range commands {
		if c.name == args[0] {
			if c.keep {
				return c.program, args, nil
			}
			return c.program, args[1:], nil
		}
	}
	return "", nil, fmt.Errorf("usher's image has no command %q, and does not contain the command line: run %q with the command line", args[0], "usher "+args[0])
}

func help() string {
	text := `/usher in usher's images runs the programs of usher that run in a cluster. "usher"
on your machine is the command line.

Usage:
  /usher COMMAND [flags]

Commands:
`
	for _, c := range commands {
		if c.help != "" {
			text += fmt.Sprintf("  %-12s%s\n", c.name, c.help)
		}
	}
	return text + `  version     Print usher's version, and the commit and Go version it was built from

Run "/usher COMMAND --help" for the flags of a command.
`
}
