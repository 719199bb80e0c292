// Command usher-redirect redirects a pod's TCP traffic to the proxy in the pod.
// It runs once in each such pod, so it links as little as possible.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
