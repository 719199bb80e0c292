package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"
)

// step plays a container of a pod whose containers depend on each other: it waits
// for the file that another one writes, writes its own, and serves or ends.
func step(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("step", flag.ContinueOnError)
	needs := flags.String("needs", "", "wait for this file")
	writes := flags.String("writes", "", "then write this file")
	address := flags.String("serve", "", "then serve at this address instead of ending")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *needs != "" {
		if err := await(ctx, *needs); err != nil {
			return err
		}
	}
	if *writes != "" {
		if err := os.WriteFile(*writes, []byte("written\n"), 0o644); err != nil {
			return err
		}
	}
	if *address == "" {
		return nil
	}
	return serve(ctx, *address, http.HandlerFunc(hello))
}

// await waits until a file exists, and says so.
func await(ctx context.Context, file string) error {
	fmt.Println("waits for", file)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			fmt.Println("found", file)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
