package main

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// excluded reports which files the configuration of a folder excludes, and patterns
// relative to the current folder.
func excluded(c *config.Configuration, folder string, patterns []string) (func(file string) bool, error) {
	configured, err := skips(c, folder)
	if err != nil {
		return nil, err
	}
	flag, err := skips(&config.Configuration{Paths: config.Paths{Exclude: patterns}}, ".")
	if err != nil {
		return nil, fmt.Errorf("--exclude-paths: %w", err)
	}
	switch {
	case configured == nil:
		return flag, nil
	case flag == nil:
		return configured, nil
	}
	return func(file string) bool { return configured(file) || flag(file) }, nil
}

// ruleID checks a value of --rule or --exclude. People write paths into --exclude.
func ruleID(flag, value string) error {
	_, err := ruledocs.Find(value)
	if err == nil || !strings.ContainsAny(value, "/*.") {
		return err
	}
	if flag != "exclude" {
		return fmt.Errorf("--%s %q is not the id of a rule: usher rules lists them", flag, value)
	}
	return fmt.Errorf("--exclude %q is not the id of a rule; to skip files, write --exclude-paths '%s'", value, value)
}
