package units

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// chartFile is the file that makes a folder a Helm chart.
const chartFile = "Chart.yaml"

// ofChart reports whether a file below the folder of a chart is a part of the chart.
func ofChart(chart, file string) bool {
	rel, err := filepath.Rel(chart, file)
	if err != nil {
		return false
	}
	first, rest, within := strings.Cut(filepath.ToSlash(rel), "/")
	if within && rest != "" {
		return slices.Contains([]string{"templates", "crds", "charts"}, first)
	}
	switch first {
	case chartFile, "Chart.lock", "requirements.yaml", "requirements.lock", "templates", "crds", "charts":
		return true
	}
	return strings.HasPrefix(first, "values")
}

// manifestOf reports whether a part of a chart is a manifest, or a folder, so that the
// chart has objects of it.
func manifestOf(chart, part string) bool {
	if info, err := os.Stat(part); err == nil && info.IsDir() {
		return true
	}
	folders := inside(chart, part)
	folders, name := folders[:len(folders)-1], folders[len(folders)-1]
	return !strings.HasPrefix(name, "_") && (slices.Contains(folders, "templates") || slices.Contains(folders, "crds"))
}

// readByChart reports whether a file below the folder of a chart is in the folder for
// what templates read.
func readByChart(chart, file string) bool {
	rel, err := filepath.Rel(chart, file)
	return err == nil && strings.HasPrefix(filepath.ToSlash(rel), "files/")
}

// localDependencies returns the folders of the charts that a chart names by their
// paths.
func localDependencies(file string) (folders []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var chart struct {
		Dependencies []struct {
			Repository string `json:"repository"`
		} `json:"dependencies"`
	}
	if yaml.Unmarshal(text, &chart) != nil {
		return nil
	}
	for _, d := range chart.Dependencies {
		if path, local := strings.CutPrefix(d.Repository, "file://"); local && !filepath.IsAbs(path) {
			folders = append(folders, filepath.Join(filepath.Dir(file), path))
		}
	}
	return folders
}
