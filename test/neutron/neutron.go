// Package neutron starts a real OpenStack Neutron and Keystone for tests, from
// Debian's packages, on SQLite, without agents, message queue or systemd.
//
// It needs Debian 12 or a system with its packages. It downloads and unpacks
// them into the user's cache folder, and only changes the system if Python or
// apt's lists are missing, which needs root.
package neutron

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/usher-dev/usher/test/controlplane"
)

// Region is the region of Neutron.
const Region = "RegionOne"

// A Neutron is a running Neutron with its Keystone.
type Neutron struct {
	// AuthURL is Keystone's address, URL Neutron's.
	AuthURL, URL string

	password          string // the administrator's
	dir               string // of this run: configuration, databases, logs
	keystone, neutron *process
	catalog           *catalog
}

// Start starts both; the caller stops them. It reports slow steps to progress:
// the first start downloads 36 MB and creates the databases, which are kept.
func Start(ctx context.Context, progress io.Writer) (*Neutron, error) {
	kept, err := ensure(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("preparing Neutron: %w", err)
	}
	dir, err := os.MkdirTemp("", "usher-neutron-")
	if err != nil {
		return nil, err
	}
	n := &Neutron{dir: dir, password: rand.Text()}
	if err := n.start(ctx, kept); err != nil {
		return nil, errors.Join(fmt.Errorf("starting Neutron: %w", err), n.Stop())
	}
	return n, nil
}

func (n *Neutron) start(ctx context.Context, kept *installation) error {
	identity, err := controlplane.FreeAddress()
	if err != nil {
		return err
	}
	network, err := controlplane.FreeAddress()
	if err != nil {
		return err
	}
	n.AuthURL, n.URL = "http://"+identity+"/v3", "http://"+network
	if err := kept.copyDatabases(n.dir); err != nil {
		return err
	}
	_, identityPort, err := net.SplitHostPort(identity)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(network)
	if err != nil {
		return err
	}
	if err := configure(n.dir, settings{Dir: n.dir, Port: port, AuthURL: n.AuthURL, Password: n.password}); err != nil {
		return err
	}
	// Neutron sends Keystone no requests before it gets one.
	if n.neutron, err = startProcess(kept.python(n.dir, "neutron_serve.py", "--config-file", filepath.Join(n.dir, "neutron.conf")), n.dir, "neutron"); err != nil {
		return err
	}
	identityConf := filepath.Join(n.dir, "keystone.conf")
	bootstrap := kept.python(n.dir, "keystone_manage.py", "--config-file", identityConf, "bootstrap", "--bootstrap-region-id", Region,
		"--bootstrap-public-url", n.AuthURL, "--bootstrap-internal-url", n.AuthURL, "--bootstrap-admin-url", n.AuthURL)
	bootstrap.Env = append(bootstrap.Env, "OS_BOOTSTRAP_PASSWORD="+n.password)
	if err := run(ctx, bootstrap); err != nil {
		return fmt.Errorf("making Keystone's administrator: %w", err)
	}
	if n.keystone, err = startProcess(kept.python(n.dir, "keystone_serve.py", identityPort, "--config-file", identityConf), n.dir, "keystone"); err != nil {
		return err
	}
	if err := n.keystone.serves(ctx, n.AuthURL); err != nil {
		return err
	}
	if n.catalog, err = newCatalog(ctx, n.AuthURL, n.password); err != nil {
		return fmt.Errorf("filling Keystone's catalog: %w", err)
	}
	if err := n.AddRegion(ctx, Region, n.URL); err != nil {
		return err
	}
	return n.neutron.serves(ctx, n.URL)
}

// Stop stops both and removes what they wrote.
func (n *Neutron) Stop() error {
	return errors.Join(n.neutron.stop(), n.keystone.stop(), os.RemoveAll(n.dir))
}
