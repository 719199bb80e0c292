package main

import (
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func TestServerCommandsPointToTheServer(t *testing.T) {
	for _, name := range serverCommands {
		want := "Error: \"usher " + name + "\" runs in the cluster and is not part of the command line: run \"/usher " + name + "\" in usher's image\n"
		status, stdout, stderr := usher(t, "", name, "--namespace=usher-system")
		if status != cli.Usage || stdout != "" || stderr != want {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q, want %q", name, status, stdout, stderr, want)
		}
	}
}
