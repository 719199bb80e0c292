package render

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	v2 "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/usher-dev/usher/cli/chart"
)

// lookup finds calls of the function that reads the cluster.
var lookup = regexp.MustCompile(`\{\{[^}]*\blookup\b`)

// renderChart renders a chart with all of its hooks and definitions.
func renderChart(r Request, values *given) (*Result, error) {
	c, err := chart.Open(r.Folder)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	if c.Metadata.Type == "library" {
		return result, nil
	}
	local := addLocal(c, r.Folder)
	values.chart(c)
	values.value(r.Values)
	if missing := dropMissing(c, r.Values); len(missing) > 0 {
		result.Partial = true
		result.Notes = append(result.Notes, fmt.Sprintf("%s: rendered without dependencies that its folder does not contain: %s (run helm dependency build)", r.Folder, strings.Join(missing, ", ")))
	}
	for _, t := range c.Templates {
		if lookup.Match(t.Data) {
			result.Notes = append(result.Notes, fmt.Sprintf("%s: lookup in %s finds nothing, because usher does not read a cluster", r.Folder, t.Name))
		}
	}
	release := chart.Release{Name: releaseName, Namespace: r.Namespace, Service: "Helm"}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), r.APIVersions...)
	if r.KubernetesVersion != "" {
		version, err := common.ParseKubeVersion(r.KubernetesVersion)
		if err != nil {
			return nil, fmt.Errorf("--kubernetes-version: %w", err)
		}
		capabilities.KubeVersion = *version
	}
	// Helm creates the definitions of a chart before its templates.
	for _, crd := range c.CRDObjects() {
		result.Objects = append(result.Objects, Object{File: source(r.Folder, c, local, crd.Filename), Text: string(crd.File.Data)})
	}
	files, notes, err := chart.Files(c, release, r.Values, capabilities)
	result.Notes = append(result.Notes, notes...)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isManifest(name) && strings.TrimSpace(files[name]) != "" {
			result.Objects = append(result.Objects, Object{File: source(r.Folder, c, local, name), Text: separated(files[name])})
		}
	}
	return result, nil
}

// chart adds the values of a chart and its dependencies.
func (g *given) chart(c *v2.Chart) {
	g.source.WriteString(c.Name() + "\n")
	for _, t := range c.Templates {
		g.source.WriteString(t.Name + "\n" + string(t.Data) + "\n")
	}
	g.source.Write(c.Schema)
	for _, sub := range c.Dependencies() {
		g.chart(sub)
	}
	g.value(c.Values)
}

// glued finds a document marker with text on its line, which templates that trim blank
// lines leave. Helm separates documents there.
var glued = regexp.MustCompile(`(?m)^---([^\s-])`)

func separated(text string) string { return glued.ReplaceAllString(text, "---\n$1") }

// releaseName is the name that helm template uses.
const releaseName = "release-name"

// isManifest reports whether Helm sends the result of a template to the server.
func isManifest(name string) bool {
	base := path.Base(name)
	return base != "NOTES.txt" && !strings.HasPrefix(base, "_")
}

// source is the file of a template, which Helm names CHART/templates/FILE, or
// CHART/charts/DEPENDENCY/templates/FILE. local has the folders of dependencies that are
// elsewhere.
func source(folder string, c *v2.Chart, local map[string]string, name string) string {
	name = strings.TrimPrefix(name, c.Name()+"/")
	if below, ok := strings.CutPrefix(name, "charts/"); ok {
		dependency, rest, _ := strings.Cut(below, "/")
		if own := local[dependency]; own != "" {
			return filepath.Join(own, filepath.FromSlash(rest))
		}
	}
	return filepath.Join(folder, filepath.FromSlash(name))
}

// addLocal adds the dependencies that the chart names by their paths, as helm dependency
// build does, and returns their folders by name.
func addLocal(c *v2.Chart, folder string) map[string]string {
	folders := map[string]string{}
	for _, d := range c.Metadata.Dependencies {
		if d == nil || slices.ContainsFunc(c.Dependencies(), func(sub *v2.Chart) bool { return sub.Name() == d.Name }) {
			continue
		}
		path, local := strings.CutPrefix(d.Repository, "file://")
		if !local || filepath.IsAbs(path) {
			continue
		}
		own := filepath.Join(folder, filepath.FromSlash(path))
		if sub, err := chart.Open(own); err == nil && sub.Name() == d.Name {
			c.AddDependency(sub)
			folders[d.Name] = own
		}
	}
	return folders
}

// dropMissing removes the dependencies that the chart names and does not contain, and
// returns the names of those that its values do not switch off.
func dropMissing(c *v2.Chart, values map[string]any) (missing []string) {
	c.Metadata.Dependencies = slices.DeleteFunc(c.Metadata.Dependencies, func(d *v2.Dependency) bool {
		if d == nil || slices.ContainsFunc(c.Dependencies(), func(sub *v2.Chart) bool { return sub.Name() == d.Name }) {
			return d == nil
		}
		if !off(d.Condition, values) && !off(d.Condition, c.Values) {
			missing = append(missing, d.Name)
		}
		return true
	})
	return missing
}

// off reports whether a condition of a dependency, such as redis.enabled, is false in
// values.
func off(condition string, values map[string]any) bool {
	for _, path := range strings.Split(condition, ",") {
		value, err := common.Values(values).PathValue(strings.TrimSpace(path))
		if on, ok := value.(bool); err == nil && ok {
			return !on
		}
	}
	return false
}
