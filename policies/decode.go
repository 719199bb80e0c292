package policies

import (
	"github.com/go-json-experiment/json"
	kjson "sigs.k8s.io/json"
)

// unmarshal decodes as the API server does: names of fields are case-sensitive,
// unknown ones and repeated ones are no error. What the fast decoder does not
// take the API server's own decides about, into a value of its own.
func unmarshal[T any](raw []byte, empty func() T) (T, error) {
	value := empty()
	if json.Unmarshal(raw, value) == nil {
		return value, nil
	}
	value = empty()
	return value, kjson.UnmarshalCaseSensitivePreserveInts(raw, value)
}
