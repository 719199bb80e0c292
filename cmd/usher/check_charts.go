package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	kubeversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cli/chart"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/config"
)

// chartValues reads the values of the charts that a configuration in a folder names.
func chartValues(c *config.Configuration, folder string) (input.Charts, error) {
	charts := input.Charts{}
	for i, configured := range c.Charts {
		at := fmt.Sprintf("charts[%d]", i)
		if configured.Path == "" {
			return nil, fmt.Errorf("%s has no path: write the folder of a chart", at)
		}
		path, err := filepath.Abs(filepath.Join(folder, configured.Path))
		if err != nil {
			return nil, fmt.Errorf("%s.path: %w", at, err)
		}
		var files []string
		for _, file := range configured.Values {
			files = append(files, filepath.Join(folder, file))
		}
		values, err := mergedValues(files, configured.Set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		values.Name = named(configured.Values, configured.Set)
		charts[path] = append(charts[path], *values)
	}
	return charts, nil
}

// mergedValues merges files with values, and values of --set.
func mergedValues(files, set []string) (*input.Values, error) {
	merged := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the values: %w", err)
		}
		if merged, err = chart.MergeFile(merged, file, text); err != nil {
			return nil, err
		}
	}
	for _, one := range set {
		if err := chart.Set(merged, one); err != nil {
			return nil, fmt.Errorf("the value %q cannot be read: %w; write it as in replicas=3", chart.Shown(one), err)
		}
	}
	return &input.Values{Name: named(files, set), Values: merged}, nil
}

// named lists where values come from.
func named(files, set []string) string {
	names := slices.Clone(files)
	for _, one := range set {
		names = append(names, chart.Shown(one))
	}
	return strings.Join(names, ", ")
}

// kubernetesVersion is the version of a server in the form that charts compare.
func kubernetesVersion(v *kubeversion.Version) string {
	if v == nil {
		return fmt.Sprintf("v1.%d.0", apiserver.Newest)
	}
	return fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), v.Patch())
}
