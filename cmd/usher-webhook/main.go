// Command usher-webhook is usher's admission webhook.
package main

import "github.com/usher-dev/usher/cmd/internal/server"

func main() { server.Main(newCommand()) }
