package injector

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// String writes the record as JSON, always in the same way. It is written for each
// injected pod, so it needs no reflection.
func (r Record) String() string {
	b := make([]byte, 0, 256)
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(r)) {
		b = appendKey(b, i == 0, name)
		b = r[name].appendJSON(b)
	}
	return string(append(b, '}'))
}

func (e RecordEntry) appendJSON(b []byte) []byte {
	b = appendQuoted(append(b, `{"version":`...), e.Content)
	if e.Options != "" {
		b = appendQuoted(append(b, `,"options":`...), e.Options)
	}
	b = appendList(b, false, "containers", e.Containers)
	b = appendList(b, false, "initContainers", e.InitContainers)
	b = appendList(b, false, "volumes", e.Volumes)
	if len(e.AppContainers) > 0 {
		b = append(b, `,"appContainers":{`...)
		for i, name := range slices.Sorted(maps.Keys(e.AppContainers)) {
			b = append(appendKey(b, i == 0, name), '{')
			items := e.AppContainers[name]
			begin := len(b)
			b = appendList(b, true, "env", items.Env)
			b = appendList(b, len(b) == begin, "envFrom", items.EnvFrom)
			b = appendList(b, len(b) == begin, "volumeMounts", items.VolumeMounts)
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	if len(e.Parameters) > 0 {
		b = append(b, `,"parameters":{`...)
		for i, name := range slices.Sorted(maps.Keys(e.Parameters)) {
			b = appendQuoted(appendKey(b, i == 0, name), e.Parameters[name])
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendList writes a list that is not empty, with its key.
func appendList(b []byte, first bool, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(appendKey(b, first, key), '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, item)
	}
	return append(b, ']')
}

func appendKey(b []byte, first bool, key string) []byte {
	if !first {
		b = append(b, ',')
	}
	return append(appendQuoted(b, key), ':')
}

func appendQuoted(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text) // it only reports invalid UTF-8, which JSON did not have
	return b
}
