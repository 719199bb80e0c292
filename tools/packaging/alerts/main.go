// Command alerts parses Prometheus rule files and Grafana dashboards like
// Prometheus, and prints the metrics that they use.
//
//	go run ./alerts alerts.yaml dashboard.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	metrics := map[string]bool{}
	var errs []error
	for _, path := range os.Args[1:] {
		expressions, err := read(path)
		for _, expression := range expressions {
			errs = append(errs, collect(expression, metrics))
		}
		if err := errors.Join(append(errs, err)...); err != nil {
			fmt.Fprintf(os.Stderr, "alerts: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		fmt.Println(name)
	}
}

// read returns the expressions of a file.
func read(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".json" {
		return dashboard(content)
	}
	return rules(content)
}

func rules(content []byte) ([]string, error) {
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var expressions []string
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			expressions = append(expressions, rule.Expr)
		}
	}
	return expressions, nil
}

// dashboard finds every expr of a dashboard, at any depth.
func dashboard(content []byte) ([]string, error) {
	var root any
	if err := json.Unmarshal(content, &root); err != nil {
		return nil, err
	}
	var expressions []string
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				if text, ok := value.(string); ok && key == "expr" {
					expressions = append(expressions, text)
				}
				walk(value)
			}
		case []any:
			for _, value := range node {
				walk(value)
			}
		}
	}
	walk(root)
	if len(expressions) == 0 {
		return nil, errors.New("no panel has an expr")
	}
	return expressions, nil
}

// collect adds the metrics of an expression.
func collect(expression string, metrics map[string]bool) error {
	// Variables that Grafana sets itself.
	expression = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(expression)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	for _, selector := range parser.ExtractSelectors(parsed) {
		for _, matcher := range selector {
			if matcher.Name == model.MetricNameLabel {
				metrics[matcher.Value] = true
			}
		}
	}
	return nil
}
