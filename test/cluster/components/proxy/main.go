// Command proxy is a real HTTP proxy, Caddy, with the command line that Envoy's
// containers have in usher's templates. Envoy is not a Go program, so this
// program is in the image that a test's template calls Envoy. The configuration
// file is Caddy's, in JSON.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
	select {} // Caddy ends the process
}

func run(args []string) error {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	config := flags.String("config-path", "", "configuration `file`")
	// Accepted, without effect.
	flags.Int("concurrency", 0, "")
	flags.String("mode", "", "")
	// Some pass an option and its value as one argument.
	if err := flags.Parse(strings.Fields(strings.Join(args, " "))); err != nil {
		return err
	}
	text, err := os.ReadFile(*config)
	if err != nil {
		return err
	}
	caddy.TrapSignals()
	return caddy.Load(text, true)
}
