// Command usher-controller runs the controllers of usher's custom resources.
package main

import "github.com/usher-dev/usher/cmd/internal/server"

func main() { server.Main(newCommand()) }
