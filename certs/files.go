package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Files serves a certificate that another process writes into a folder:
// tls.crt, tls.key and ca.crt, as in a mounted Secret. While the files are
// invalid it keeps serving the last valid certificate.
type Files struct {
	Config
	Dir string

	served
	rollover rollover
}

var _ Source = &Files{}

// Start watches the folder.
func (f *Files) Start(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watched := false
	f.keep(ctx, wake, &f.served, func(ctx2 context.Context) error {
		if !watched {
			watcher, err := certwatcher.New(filepath.Join(f.Dir, "tls.crt"), filepath.Join(f.Dir, "tls.key"))
			if err != nil {
				return fmt.Errorf("certificate in %s: %w", f.Dir, err)
			}
			watcher.RegisterCallback(func(tls.Certificate) { poke(wake) })
			watched = true
			watching.Go(func() {
				if err := watcher.Start(ctx); err != nil {
					f.Log.Error(err, "watching the certificate; it is still read every interval", "dir", f.Dir)
				}
			})
		}
		return f.step(ctx2)
	})
	return nil
}

// step reads the three files, which must match.
func (f *Files) step(ctx context.Context) error {
	pair, ca, err := f.read()
	registered, unknown := f.Registered(ctx)
	if unknown != nil {
		return errors.Join(err, fmt.Errorf("reading the registered CA bundle: %w", unknown))
	}
	f.rollover.take(&f.Config, &f.served, pair, ca, registered)
	if err != nil {
		return fmt.Errorf("certificate in %s: %w", f.Dir, err)
	}
	return nil
}

func (f *Files) read() (*tls.Certificate, certificates, error) {
	var content [3][]byte
	for i, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		var err error
		if content[i], err = os.ReadFile(filepath.Join(f.Dir, name)); err != nil {
			return nil, nil, err
		}
	}
	return parsePair(content[0], content[1], content[2])
}
