package main

import "github.com/usher-dev/usher/config"

// configuration reads the one given, or the nearest.
func configuration(path string) (*config.Configuration, error) {
	if path != "" {
		return config.Load(path)
	}
	c, _, err := config.Nearest(".")
	return c, err
}
