// Command app runs in the pods of the tests. Its image contains nothing else.
//
//	app serve ADDRESS...       answer requests and print their paths, until it is ended
//	app call URL               succeed once the URL answers
//	app log FILE               write a line to a file twice a second
//	app --config FILE          print the lines of the files in /var/log/app, as a log shipper
//	app step [-needs FILE] [-writes FILE] [-serve ADDRESS]
//	                           wait for a file, write one, and serve
//	app load ADDRESS URL       request the URL over and over, and tell at ADDRESS how it went
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	// PID 1 has no default signal handlers.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		go func() { _ = serve(ctx, args[2], http.HandlerFunc(hello)) }()
		return serve(ctx, args[1], http.HandlerFunc(hello))
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], http.HandlerFunc(hello))
	case len(args) == 2 && args[0] == "log":
		return write(ctx, args[1])
	case len(args) == 2 && args[0] == "--config":
		return ship(ctx, "/var/log/app")
	case len(args) == 2 && args[0] == "call":
		return call(ctx, args[1])
	case len(args) > 0 && args[0] == "step":
		return step(ctx, args[1:])
	case len(args) == 3 && args[0] == "load":
		l := &load{url: args[2], client: newClient()}
		go l.run(ctx)
		return serve(ctx, args[1], l)
	}
	return fmt.Errorf("got %q; write serve ADDRESS..., call URL, log FILE, step or load ADDRESS URL", args)
}

// hello reports who answers and which proxies the request passed.
func hello(w http.ResponseWriter, r *http.Request) {
	name, _ := os.Hostname()
	fmt.Println(r.URL.Path)
	fmt.Fprintf(w, "hello from %s, asked for %s via %q\n", name, r.URL.Path, r.Header.Get("Via"))
}

// serve serves until the context ends, and then completes requests in progress.
func serve(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return <-ended
}

// call retries until there is an answer, because a sidecar may not listen yet.
func call(ctx context.Context, url string) error {
	client := newClient()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := get(ctx, client, url)
		if err == nil {
			fmt.Println("answered:", url)
			return nil
		}
		fmt.Println(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// newClient opens a connection for each request, so that each one is balanced.
func newClient() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}
