package main

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
)

// templateConfigMap returns the name and the data of the template that a
// document holds, "" where it holds none.
func templateConfigMap(doc *manifest.Document) (string, map[string]string, error) {
	if doc.APIVersion != "v1" || doc.Kind != "ConfigMap" {
		return "", nil, nil
	}
	var cm corev1.ConfigMap
	if err := json.Unmarshal(doc.JSON, &cm); err != nil {
		return "", nil, fmt.Errorf("reading the %s: %w", doc, err)
	}
	return injector.TemplateName(cm.Name, cm.Labels), cm.Data, nil
}

// namespaceLabels returns the labels of a namespace: those of every one, and
// over them those of the Namespace among the documents.
func namespaceLabels(docs []*manifest.Document, every map[string]string) func(string) map[string]string {
	own := map[string]map[string]string{}
	for _, doc := range docs {
		if doc.APIVersion != "v1" || doc.Kind != "Namespace" {
			continue
		}
		var ns corev1.Namespace
		if json.Unmarshal(doc.JSON, &ns) == nil {
			own[ns.Name] = ns.Labels
		}
	}
	return func(name string) map[string]string {
		labels := maps.Clone(every)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, own[name])
		return labels
	}
}

// configuration reads the one given, or the nearest.
func configuration(path string) (*config.Configuration, error) {
	if path != "" {
		return config.Load(path)
	}
	c, _, err := config.Nearest(".")
	return c, err
}
