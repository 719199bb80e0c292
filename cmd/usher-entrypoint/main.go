// Command usher-entrypoint is /usher in usher's images: it runs the program that
// the first argument names, in its own place. Manifests and templates therefore
// need not know which program does what, or which of the images has it.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
