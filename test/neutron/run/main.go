// Command run starts a Neutron with its Keystone, prints a clouds.yaml for them
// and stops them when it is interrupted.
//
//	go run ./test/neutron/run >clouds.yaml
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/usher-dev/usher/test/neutron"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "neutron:", err)
		os.Exit(1)
	}
}

func serve() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := neutron.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	p, err := n.AddProject(ctx, "demo")
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", p.CloudsYAML("openstack", n.AuthURL, neutron.Region))
	fmt.Fprintf(os.Stderr, "Neutron serves at %s, Keystone at %s; interrupt to end them\n", n.URL, n.AuthURL)
	<-ctx.Done()
	return nil
}
