// Package crds contains the CustomResourceDefinitions of usher's own kinds.
package crds

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed *_*.yaml
var files embed.FS

// Groups are the groups of the kinds: files are named <group>_<plural>.yaml.
var Groups = sync.OnceValue(func() []string {
	var groups []string
	for _, name := range names() {
		group, _, _ := strings.Cut(name, "_")
		groups = append(groups, group)
	}
	return slices.Compact(groups)
})

// JSON returns the definitions.
func JSON() [][]byte {
	var all [][]byte
	for _, name := range names() {
		text, _ := files.ReadFile(name) // it is embedded
		if raw, err := yaml.YAMLToJSON(text); err == nil {
			all = append(all, raw)
		}
	}
	return all
}

func names() []string {
	entries, _ := files.ReadDir(".") // it is embedded
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
