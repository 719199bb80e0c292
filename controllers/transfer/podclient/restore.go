package podclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A Restore creates a member's data from the fetched backup.
type Restore struct {
	// From is Fetch.To, Data the folder for the complete data.
	From, Data string
	// Command is etcdutl with the member's settings; the snapshot and the folder
	// are appended.
	Command []string
	// Log receives the output of etcdutl.
	Log io.Writer
}

// Run restores the data, unless that was done before; incomplete data is
// discarded.
func (r Restore) Run(ctx context.Context) error {
	if len(r.Command) == 0 {
		return errors.New("the command to restore with is missing: write etcdutl snapshot restore and its flags after --")
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
