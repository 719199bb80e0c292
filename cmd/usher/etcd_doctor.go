package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/grpclog"

	"github.com/usher-dev/usher/cli/doctor"
	"github.com/usher-dev/usher/cli/doctor/gather"
	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// etcdDoctor are the flags of usher etcd doctor.
type etcdDoctor struct {
	gather.Config
	output string
}

func newEtcdDoctor(s streams) *cobra.Command {
	d := etcdDoctor{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the health of an etcd cluster, and say what to do",
		Long: `doctor asks the members of any etcd cluster for what they say of themselves, and
says what to do, in the order in which to do it: the majority and how many more
members may fail, alarms, database size, fragmentation and quota, revisions that
members lack, learners, versions, and certificates. Each line says what it found:

  √ ok   ‼ a warning   × failed   ? unknown, because it could not be read

It only reads. It needs no right but that of an etcd user if etcd's authentication
is enabled, and the role root with --hash. A member that hangs delays the result by
the timeouts, and does not stop it.

Flags and environment variables are etcdctl's: ETCDCTL_ENDPOINTS, ETCDCTL_CACERT,
ETCDCTL_USER and so on are the defaults of the flags.

Exit status: 0 healthy, 1 something failed or needs attention (a warning), 2 bad
usage, or no member told its status.`,
		Example: `  usher etcd doctor --endpoints=https://etcd-0:2379,https://etcd-1:2379 --cacert=ca.crt
  ETCDCTL_PASSWORD=... usher etcd doctor --endpoints=etcd-0:2379 --cluster --user=root
  usher etcd doctor -o json`,
		Args: cli.NoArguments("name the members with --endpoints"),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd, s) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&d.Endpoints, "endpoints", []string{"127.0.0.1:2379"}, "client URLs of members, separated by commas")
	f.StringVar(&d.CACert, "cacert", "", "file with the CAs of the members' certificates")
	f.StringVar(&d.Cert, "cert", "", "file with the client's certificate")
	f.StringVar(&d.Key, "key", "", "file with the key of the client's certificate")
	f.StringVar(&d.User, "user", "", "user of etcd, as NAME:PASSWORD, or as NAME with --password")
	f.StringVar(&d.Password, "password", "", "password of the user; ETCDCTL_PASSWORD keeps it out of the list of processes")
	f.BoolVar(&d.SkipVerify, "insecure-skip-tls-verify", false, "accept members whose certificates the client does not trust")
	f.DurationVar(&d.DialTimeout, "dial-timeout", 2*time.Second, "time for a connection to an endpoint")
	f.DurationVar(&d.CommandTimeout, "command-timeout", 5*time.Second, "time for each call, such as that of the status")
	f.BoolVar(&d.Cluster, "cluster", false, "also ask at the client URLs that members advertise")
	f.BoolVar(&d.Hash, "hash", false, "compare the keys of members by a hash; members read their whole database for it")
	cli.Output(cmd, &d.output, "text", "json", "yaml")
	withoutKubernetes(cmd)
	cli.Without(cmd, "it asks etcd, and reads no manifests; usher check does", cli.FilenameFlag)
	return cmd
}

func (d *etcdDoctor) run(cmd *cobra.Command, s streams) error {
	if err := fromEnvironment(cmd.Flags()); err != nil {
		return err
	}
	if err := d.validate(); err != nil {
		return err
	}
	silenceGRPC()
	observed, err := gather.Observe(cmd.Context(), &d.Config)
	if err != nil {
		return err
	}
	report := doctor.NewReport(observed)
	if d.output == "text" {
		err = report.Text(s.out, colourful(s))
	} else {
		err = printData(s.out, d.output, report)
	}
	switch {
	case err != nil:
		return err
	case len(report.Members) == 0:
		return cli.Exit(cli.Usage, errors.New("no endpoint told the status of a member: the section quorum says why"))
	case report.Count(status.Failed)+report.Count(status.Warning) > 0:
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// silenceGRPC ends the log of connections that fail, which the report explains. The
// API server's packages write it to standard error.
var silenceGRPC = sync.OnceFunc(func() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
})

// fromEnvironment sets flags that were not given from etcdctl's variables.
func fromEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == cli.OutputFlag || f.Name == "help" {
			return
		}
		name := "ETCDCTL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := os.Getenv(name); value != "" && !f.Changed {
			if f.Value.Set(value) != nil {
				errs = append(errs, fmt.Errorf("%s is not a value of --%s: write %s", name, f.Name, example(f)))
			}
		}
	})
	return errors.Join(errs...)
}

// example is a value of a flag that has words that it does not take.
func example(f *pflag.Flag) string {
	if f.Value.Type() == "duration" {
		return "a duration, such as 5s"
	}
	return "true or false"
}

// validate reports every flag that cannot be used, and divides --user.
func (d *etcdDoctor) validate() error {
	var errs []error
	if len(d.Endpoints) == 0 {
		errs = append(errs, errors.New("--endpoints is empty: write the client URLs of members"))
	}
	for _, e := range d.Endpoints {
		if wrong := gather.Endpoint(e); wrong != "" {
			errs = append(errs, errors.New("--endpoints: "+wrong))
		}
	}
	if d.DialTimeout <= 0 || d.CommandTimeout <= 0 {
		errs = append(errs, errors.New("--dial-timeout and --command-timeout must be positive, such as 5s"))
	}
	if d.Password == "" {
		d.User, d.Password, _ = strings.Cut(d.User, ":")
	}
	switch {
	case d.User != "" && d.Password == "":
		errs = append(errs, errors.New("--user has no password: write NAME:PASSWORD, or set ETCDCTL_PASSWORD"))
	case d.User == "" && d.Password != "":
		errs = append(errs, errors.New("--password has no user: pass --user NAME"))
	}
	return errors.Join(errs...)
}
