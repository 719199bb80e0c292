package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/controllers/transfer/podclient"
)

// Exit statuses.
const (
	done   = 0
	failed = 1
	usage  = 2
)

// A command is a subcommand. prepare registers its flags, and returns what it
// does with the arguments after them.
type command struct {
	name, short string
	prepare     func(*pflag.FlagSet) func(ctx context.Context, args []string, errs io.Writer) error
}

var commands = []command{
	{"fetch-snapshot", "Fetch the backup that this pod is restored from", fetchSnapshot},
	{"restore-snapshot", "Create a member's data from the fetched backup", restoreSnapshot},
	{"serve-volume", "Serve the folder with the backups to the controller", serveVolume},
	{"test-admission", "Check that usher decides about pods (helm test)", testAdmission},
}

// errUsage is wrapped by errors of the arguments.
var errUsage = errors.New("bad usage")

// run runs the subcommand that the arguments begin with, and returns the exit
// status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := execute(ctx, args, out, errs)
	if err == nil {
		return done
	}
	status := failed
	if errors.Is(err, errUsage) {
		status = usage
	}
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintf(errs, "Error: %v\n", err)
	}
	return status
}

func execute(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		_, err := io.WriteString(out, help())
		return err
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		f := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		f.Usage = func() {}
		do := c.prepare(f)
		err := f.Parse(args[1:])
		if errors.Is(err, pflag.ErrHelp) {
			_, err := fmt.Fprintf(out, "%s.\n\nFlags:\n%s", c.short, f.FlagUsagesWrapped(100))
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: usher-pod %s: %w", errUsage, c.name, err)
		}
		return do(ctx, f.Args(), errs)
	}
	return fmt.Errorf("%w: usher-pod has no command %q", errUsage, args[0])
}

func help() string {
	var b strings.Builder
	b.WriteString("usher-pod is what usher's containers in the pods of backups, restores and tests run.\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-17s %s\n", c.name, c.short)
	}
	return b.String()
}

// none refuses arguments after the flags.
func none(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, args[0])
	}
	return nil
}

func fetchSnapshot(flags *pflag.FlagSet) func(context.Context, []string, io.Writer) error {
	f := podclient.Fetch{CA: os.Getenv(podclient.EnvCA)}
	flags.StringVar(&f.URL, "url", "", "URL from which to fetch it; its CA is in "+podclient.EnvCA)
	flags.StringVar(&f.TokenFile, "token-file", "", "file with this pod's token")
	flags.StringVar(&f.Data, "data-dir", "", "folder that exists once the backup is restored")
	flags.StringVar(&f.To, "to", "", "folder to store it in")
	return func(ctx context.Context, args []string, _ io.Writer) error {
		if err := none(args); err != nil {
			return err
		}
		if err := f.Run(ctx); err != nil {
			return fmt.Errorf("fetching the backup: %w", err)
		}
		return nil
	}
}

func restoreSnapshot(flags *pflag.FlagSet) func(context.Context, []string, io.Writer) error {
	var r podclient.Restore
	flags.StringVar(&r.From, "from", "", "folder that contains the fetched backup")
	flags.StringVar(&r.Data, "data-dir", "", "folder to create")
	return func(ctx context.Context, args []string, errs io.Writer) error {
		if len(args) == 0 {
			return fmt.Errorf("%w: write etcdutl snapshot restore and its flags after --", errUsage)
		}
		r.Command, r.Log = args, errs
		return r.Run(ctx)
	}
}

func serveVolume(flags *pflag.FlagSet) func(context.Context, []string, io.Writer) error {
	var v podclient.Volume
	v.Flags(flags)
	flags.StringVar(&v.Folder, "folder", "", "folder with the backups")
	return func(ctx context.Context, args []string, _ io.Writer) error {
		if err := none(args); err != nil {
			return err
		}
		if err := v.Run(ctx); err != nil {
			return fmt.Errorf("serving %s: %w", v.Folder, err)
		}
		return nil
	}
}
