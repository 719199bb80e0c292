package chart

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
)

const (
	// maxOther limits the files that are not a part of the chart by their place: the root
	// of a repository may be a chart, and templates rarely read its other files.
	maxOther = 50 << 20
	// maxFiles limits the size of all files.
	maxFiles = 100 << 20
)

// Open reads the chart in a folder on disk as Helm does, without hidden folders, and
// without most of the files that do not belong to the chart if they are large.
func Open(folder string) (*v2.Chart, error) {
	rules, err := ignored(folder)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ignore.HelmIgnore, err)
	}
	var content []*archive.BufferedFile
	size, other := int64(0), int64(0)
	// The trailing separator opens a folder that is itself a link.
	err = filepath.WalkDir(folder+string(filepath.Separator), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil || name == "." {
			return err
		}
		name = filepath.ToSlash(name)
		info, err := os.Stat(file) // follows links, like Helm
		if err != nil {
			return err
		}
		if rules.Ignore(name, info) || strings.HasPrefix(entry.Name(), ".") || entry.IsDir() && entry.Name() == "node_modules" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		if !belongs(name) {
			if info.Size() > archive.MaxDecompressedFileSize || other+info.Size() > maxOther {
				return nil
			}
			other += info.Size()
		}
		if size += info.Size(); size > maxFiles || info.Size() > archive.MaxDecompressedFileSize {
			return fmt.Errorf("%s: the chart has more than %d MiB", name, maxFiles>>20)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		content = append(content, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	c, err := loader.LoadFiles(content)
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	return c, nil
}

// belongs reports whether a file is a part of the chart by its place.
func belongs(name string) bool {
	first, _, below := strings.Cut(name, "/")
	return !below && !strings.ContainsAny(name, "/") && (strings.HasPrefix(name, "Chart.") || strings.HasPrefix(name, "values")) ||
		first == "templates" || first == "crds" || first == "charts" || first == "files"
}

// ignored reads the rules of a chart's .helmignore.
func ignored(folder string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	file := filepath.Join(folder, ignore.HelmIgnore)
	if _, err := os.Stat(file); err == nil {
		if rules, err = ignore.ParseFile(file); err != nil {
			return nil, err
		}
	}
	rules.AddDefaults()
	return rules, nil
}
