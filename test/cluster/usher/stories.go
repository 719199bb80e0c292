package usher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/usher-dev/usher/test/cluster/node"
)

// Stories are tests that share a node with usher installed.
type Stories struct {
	// Run runs them, as testing.M does.
	Run func() int
	// Prepare loads the images of their pods, before usher is installed.
	Prepare func(context.Context, *node.Node) error
	// Begin creates what they share, and returns a function that removes it, or
	// nil.
	Begin func(context.Context, *node.Node, *Installation) (end func() error, err error)
}

// Main runs the stories, and exits with their status.
func (s Stories) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		status = 1
	}
	os.Exit(status)
}

func (s Stories) run(ctx context.Context) (status int, err error) {
	n, err := node.Start(ctx, os.Stderr)
	if err != nil {
		return 1, err
	}
	ends := []func() error{n.Release}
	defer func() {
		for _, end := range slices.Backward(ends) {
			err = errors.Join(err, end())
		}
	}()
	if err := s.Prepare(ctx, n); err != nil {
		return 1, err
	}
	installed, err := Install(ctx, n)
	if err != nil {
		n.Dump(ctx, os.Stderr, Namespace)
		return 1, err
	}
	ends = append(ends, func() error { return installed.Uninstall(context.WithoutCancel(ctx)) })
	end, err := s.Begin(ctx, n, installed)
	if err != nil {
		return 1, err
	}
	if end != nil {
		ends = append(ends, end)
	}
	return s.Run(), nil
}

// AppImage is the name of the image of test/e2e/app on the node.
const AppImage = "node.local/app:e2e"

// LoadApp builds the application that pods of stories run, and loads it.
func LoadApp(ctx context.Context, n *node.Node, names ...string) error {
	folder, err := os.MkdirTemp("", "usher-app-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	root, err := node.Root()
	if err != nil {
		return err
	}
	app, err := node.Compile(ctx, root, "./test/e2e/app", folder)
	if err != nil {
		return err
	}
	for _, name := range append(names, AppImage) {
		if err := n.Load(ctx, node.Image{Name: name, Binaries: []string{app}}); err != nil {
			return err
		}
	}
	return nil
}
