package config

// Input configures what the command line reads of a repository; it has no effect in a
// cluster.
type Input struct {
	// Strict makes usher check fail if it cannot render a part of the input, and so
	// does not judge it.
	Strict bool `json:"strict,omitempty"`
}

// A Chart has the values that a Helm chart of the repository is checked with. A chart
// may have several entries, each of which is rendered.
type Chart struct {
	// Path is the chart's folder, relative to the configuration's.
	Path string `json:"path"`
	// Values are files with values, relative to the configuration's folder, of which
	// later ones take precedence. Set are values as for helm --set, which take
	// precedence over those of files.
	Values []string `json:"values,omitempty"`
	Set    []string `json:"set,omitempty"`
}
