package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/finding"
)

// A template that declares parameters names them in its text as ${param.NAME};
// $${param. stands for the text ${param. itself.
const placeholder = "${param."

// A segment is a part of a text: literal, or the value of a parameter.
type segment struct {
	text  string
	param int // index of the parameter, or -1
}

// segments splits a text at its placeholders. The error says what to write.
func segments(text string, parameters []Parameter) ([]segment, error) {
	var parts []segment
	literal := func(s string) {
		if n := len(parts); n > 0 && parts[n-1].param < 0 {
			parts[n-1].text += s
		} else if s != "" {
			parts = append(parts, segment{s, -1})
		}
	}
	for {
		before, after, found := strings.Cut(text, placeholder)
		if !found {
			literal(text)
			return parts, nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			literal(escaped + placeholder)
			text = after
			continue
		}
		literal(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !isParameterName(name) {
			return nil, fmt.Errorf("has %s, which names no parameter; write %sNAME}, or $%s for the text itself", finding.Quote(placeholder+name), placeholder, placeholder)
		}
		at := slices.IndexFunc(parameters, func(p Parameter) bool { return p.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("names the parameter %s, which options.parameters does not declare; %s", finding.Quote(name), declared(parameters))
		}
		parts = append(parts, segment{param: at})
		text = rest
	}
}

func declared(parameters []Parameter) string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name
	}
	return "it declares " + strings.Join(names, ", ")
}

// A place is where a placeholder may stand.
type place uint8

const (
	nowhere     place = iota
	inText            // any text
	inVariables       // a text in which Kubernetes replaces $(NAME)
	inLabel
	inImage
	inQuantity
	inNumber
)

// numbers are the numeric fields of ports, probes and lifecycle hooks, with their smallest and
// largest values.
var numbers = map[string][2]int64{
	"containerPort": {1, 65535}, "hostPort": {0, 65535}, "port": {1, 65535},
	"initialDelaySeconds": {0, maxInt32}, "timeoutSeconds": {1, maxInt32}, "periodSeconds": {1, maxInt32},
	"successThreshold": {1, maxInt32}, "failureThreshold": {1, maxInt32}, "terminationGracePeriodSeconds": {1, maxInt32},
	"seconds": {1, maxInt32}, // of a lifecycle hook that sleeps
}

const maxInt32 = 1<<31 - 1

// placeOf says what a placeholder at a path can be, and how long the path of the
// item is that it belongs to.
func placeOf(path []string) (at place, item int) {
	if len(path) == 0 {
		return nowhere, 0
	}
	last := path[len(path)-1]
	switch {
	case len(path) == 2 && path[0] == "labels":
		return inLabel, 2
	case len(path) == 2 && path[0] == "annotations":
		return inText, 2
	case len(path) == 4 && path[0] == "appContainers" && path[1] == "env" && last == "value":
		return inVariables, 3
	case len(path) < 3 || !isContainers(path[0]):
		return nowhere, 0
	}
	of, rest := path[2], len(path)-3
	switch of {
	case "image":
		return inImage, 3
	case "args", "command":
		return inVariables, len(path)
	case "env":
		if rest == 2 && last == "value" {
			return inVariables, 4
		}
	case "resources":
		if rest == 2 && (path[3] == "requests" || path[3] == "limits") {
			return inQuantity, 5
		}
	case "ports":
		if _, number := numbers[last]; number {
			return inNumber, 4
		}
	case "livenessProbe", "readinessProbe", "startupProbe":
		_, number := numbers[last]
		switch {
		case number && last != "port":
			return inNumber, 4
		case number:
			return inNumber, 3
		}
		return inText, 3
	case "lifecycle":
		if rest < 2 {
			break
		}
		if _, number := numbers[last]; number {
			return inNumber, 4
		}
		return inText, 4
	}
	return nowhere, 0
}

// fieldOf writes a path as a field of the ConfigMap.
func fieldOf(path []string) string {
	var b strings.Builder
	for i, step := range path {
		_, err := strconv.Atoi(step)
		switch {
		case err == nil && i > 0:
			b.WriteString("[" + step + "]")
		case i > 0 && (path[i-1] == "labels" || path[i-1] == "annotations"):
			b.WriteString("[" + step + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return configField + b.String()
}
