package neutron

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// databases are the files of both programs; Neutron's is created last.
var databases = [...]string{"keystone.db", "neutron.db"}

// makeDatabases creates the tables of both, which takes most of a first start.
func (i *installation) makeDatabases(ctx context.Context) error {
	dir, err := os.MkdirTemp(i.dir, "partial-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := render(dir, settings{Dir: dir}); err != nil {
		return err
	}
	all, allCtx := errgroup.WithContext(ctx)
	all.Go(func() error {
		return run(allCtx, i.python(dir, "neutron_tables.py", filepath.Join(dir, "neutron.db")))
	})
	all.Go(func() error {
		return run(allCtx, i.python(dir, "keystone_manage.py", "--config-file", filepath.Join(dir, "keystone.conf"), "db_sync"))
	})
	if err := all.Wait(); err != nil {
		return err
	}
	if err := run(ctx, i.python(dir, "wal.py", filepath.Join(dir, "keystone.db"), filepath.Join(dir, "neutron.db"))); err != nil {
		return err
	}
	for _, name := range databases {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(i.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyDatabases creates databases for a run.
func (i *installation) copyDatabases(dir string) error {
	for _, name := range databases {
		data, err := os.ReadFile(filepath.Join(i.dir, name))
		if err != nil {
			return fmt.Errorf("reading an empty database: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
