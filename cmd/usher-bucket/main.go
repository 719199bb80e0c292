// Command usher-bucket is what the pod of a backup or restore runs that connects to
// an object store with the identity of its ServiceAccount. usher writes its
// arguments; it is not for users.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/cmd/internal/publicca"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/podstore"
	"github.com/usher-dev/usher/controllers/transfer/podclient"
)

// Exit statuses.
const (
	done   = 0
	failed = 1
	usage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run serves the bucket to the controller, and returns the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var server podclient.Server
	var o bucket.Options
	f := pflag.NewFlagSet("serve-bucket", pflag.ContinueOnError)
	f.Usage = func() {}
	server.Flags(f)
	f.StringVar(&o.Bucket, "bucket", "", "name of the bucket with the backups")
	f.StringVar(&o.Region, "region", "", "region of the bucket, by default that of the pod")
	f.StringVar(&o.Endpoint, "endpoint", "", "URL of the store, by default AWS")
	f.BoolVar(&o.PathStyle, "path-style", false, "put the bucket into the path of the URL")
	f.StringVar(&o.Encryption, "encryption", "", "how the store encrypts what is saved")
	f.StringVar(&o.Key, "encryption-key", "", "the store's key for that")
	err := f.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(out, "Serve the bucket with the backups to the controller.\n\nFlags:\n%s", f.FlagUsagesWrapped(100))
		return done
	case err != nil:
		fmt.Fprintf(errs, "Error: usher-bucket: %v\n", err)
		return usage
	case f.NArg() != 0 || o.Bucket == "":
		fmt.Fprintf(errs, "Error: usher-bucket: write --bucket, and no arguments: %q\n", f.Args())
		return usage
	}
	publicca.Trust()
	if err := serve(ctx, &server, o); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(errs, "Error: serving the bucket %s: %v\n", o.Bucket, err)
		return failed
	}
	return done
}

func serve(ctx context.Context, server *podclient.Server, o bucket.Options) error {
	from, err := podstore.Open(o, os.Getenv)
	if err != nil {
		return err
	}
	return server.Serve(ctx, from)
}
