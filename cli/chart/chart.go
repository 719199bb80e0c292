// Package chart renders Helm charts in this process. It reads nothing but the files
// and values that it is given: no cluster and no network.
package chart

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// A Release is what a chart is installed as. Service is what installs it, which
// charts write into the label app.kubernetes.io/managed-by.
type Release struct {
	Name, Namespace, Service string
}

// A Manifest is one rendered object, and the template that it comes from, as
// CHART/templates/FILE.
type Manifest struct {
	Source, Kind, Text string
}

// Load reads the chart in a folder.
func Load(files fs.FS, folder string) (*v2.Chart, error) {
	var content []*archive.BufferedFile
	err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		content = append(content, &archive.BufferedFile{Name: strings.TrimPrefix(name, path.Clean(folder)+"/"), Data: text})
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

// Render returns a chart's manifests in the order in which Helm installs them,
// without its hooks, to which its tests belong. Values replace the chart's own, whose
// schema they must meet. A chart that reads from the cluster finds it empty.
func Render(c *v2.Chart, release Release, values map[string]any) ([]Manifest, error) {
	files, notes, err := Files(c, release, values, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	if len(notes) > 0 {
		return nil, fmt.Errorf("reading the schema of the values: %s", strings.Join(notes, "; "))
	}
	for name := range files {
		if path.Base(name) == "NOTES.txt" {
			delete(files, name)
		}
	}
	_, sorted, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart: %w", err)
	}
	manifests := make([]Manifest, len(sorted))
	for i, m := range sorted {
		manifests[i] = Manifest{Source: m.Name, Kind: m.Head.Kind, Text: m.Content}
	}
	return manifests, nil
}

// Files returns the result of each template of a chart, by CHART/templates/FILE. The
// notes say what was not checked.
func Files(c *v2.Chart, release Release, values map[string]any, capabilities *common.Capabilities) (files map[string]string, notes []string, err error) {
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, nil, fmt.Errorf("reading the chart's dependencies: %w", err)
	}
	options := common.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: true}
	// Helm's own validation requests the remote parts of a schema.
	given, err := util.ToRenderValuesWithSchemaValidation(c, values, options, capabilities, true)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the chart's values: %w", err)
	}
	if notes, err = validate(c, given["Values"].(common.Values)); err != nil {
		return nil, notes, err
	}
	given["Release"].(map[string]any)["Service"] = release.Service
	files, err = engine.Render(c, given)
	if err != nil {
		return nil, notes, fmt.Errorf("rendering the chart: %w", err)
	}
	return files, notes, nil
}
