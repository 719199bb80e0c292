// Package podjsontest finds what a patch loses.
package podjsontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Decode decodes JSON and preserves number literals.
func Decode(t testing.TB, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// Lost returns the path of something in before that after lacks. Keys must keep
// their values; a list's items must keep their value and order, with any other
// items in between. A null counts as missing.
func Lost(before, after any, path string) string {
	switch before := before.(type) {
	case nil:
		return ""
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			return path
		}
		for key, value := range before {
			if where := Lost(value, after[key], path+"."+key); where != "" {
				return where
			}
		}
		return ""
	case []any:
		after, _ := after.([]any)
		next := 0
		// A container gets more; what is in its own lists stays as it is.
		same := reflect.DeepEqual
		if strings.HasSuffix(path, "ontainers") {
			same = func(before, item any) bool { return Lost(before, item, "") == "" }
		}
		for _, item := range after {
			if next < len(before) && same(before[next], item) {
				next++
			}
		}
		if next < len(before) {
			return fmt.Sprintf("%s[%d]", path, next)
		}
		return ""
	}
	if !reflect.DeepEqual(before, after) {
		return path
	}
	return ""
}
