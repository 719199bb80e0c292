package input

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/units"
)

// markPartial marks the documents of units that may have objects that were not read: a
// part of the unit is broken, is to be filled in or is left out, or the user named some
// of the files of a folder.
func (in *Input) markPartial(named []units.File, left map[string]bool) {
	read := map[string]bool{}
	for _, f := range named {
		read[filepath.Clean(f.Path)] = true
	}
	seen := map[string]bool{}
	for _, f := range named {
		if f.Path != manifest.Stdin && !seen[f.Unit] {
			seen[f.Unit] = true
			left[f.Unit] = left[f.Unit] || hasOthers(f.Unit, read)
		}
	}
	for _, s := range in.Sources {
		for _, d := range slices.Concat(s.Docs, s.Context) {
			d.Partial = d.Partial || left[d.Unit]
		}
	}
}

// hasOthers reports whether a folder has manifests that are not among the files.
func hasOthers(folder string, read map[string]bool) bool {
	entries, err := os.ReadDir(folder)
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !e.IsDir() && manifest.IsManifest(e.Name()) && !read[filepath.Join(folder, e.Name())]
	})
}
