package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	kubeversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/config"
)

// chartValues reads the values of the charts that a configuration in a folder names.
func chartValues(c *config.Configuration, folder string) (input.Charts, error) {
	charts := input.Charts{}
	for i, chart := range c.Charts {
		at := fmt.Sprintf("charts[%d]", i)
		if chart.Path == "" {
			return nil, fmt.Errorf("%s has no path: write the folder of a chart", at)
		}
		path, err := filepath.Abs(filepath.Join(folder, chart.Path))
		if err != nil {
			return nil, fmt.Errorf("%s.path: %w", at, err)
		}
		var files []string
		for _, file := range chart.Values {
			files = append(files, filepath.Join(folder, file))
		}
		values, err := mergedValues(files, chart.Set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		values.Name = strings.Join(append(append([]string(nil), chart.Values...), chart.Set...), ", ")
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
		var values map[string]any
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("%s does not contain values: %w", file, err)
		}
		merged = loader.MergeMaps(merged, values)
	}
	for _, one := range set {
		if err := strvals.ParseInto(one, merged); err != nil {
			return nil, fmt.Errorf("the value %q cannot be read: %w; write it as in replicas=3", one, err)
		}
	}
	return &input.Values{Name: strings.Join(append(append([]string(nil), files...), set...), ", "), Values: merged}, nil
}

// kubernetesVersion is the version of a server in the form that charts compare.
func kubernetesVersion(v *kubeversion.Version) string {
	if v == nil {
		return fmt.Sprintf("v1.%d.0", apiserver.Newest)
	}
	return fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), v.Patch())
}
