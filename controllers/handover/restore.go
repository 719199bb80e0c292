package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A Restore makes a member's data from the backup that was fetched.
type Restore struct {
	// From is Fetch.To, Data the folder that the data is in once it is whole.
	From, Data string
	// Command is etcdutl with what the member is called; the snapshot and the
	// folder are added to it.
	Command []string
	// Log gets what etcdutl says.
	Log io.Writer
}

// Run restores, unless that was done before: what is half done begins anew.
func (r Restore) Run(ctx context.Context) error {
	if len(r.Command) == 0 {
		return errors.New("no command to restore with: write etcdutl snapshot restore and its flags after --")
	}
	if _, err := os.Stat(r.Data); err == nil {
		return nil
	}
	partial, file := r.Data+".partial", filepath.Join(r.From, snapshotFile)
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, r.Command[0], append(r.Command[1:], "--data-dir="+partial, file)...)
	cmd.Stdout, cmd.Stderr = r.Log, r.Log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("restoring the backup: %w", err)
	}
	if err := os.Rename(partial, r.Data); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(r.Data))
	if err != nil {
		return err
	}
	defer parent.Close()
	return errors.Join(parent.Sync(), os.Remove(file))
}
