package policies

import (
	"github.com/go-json-experiment/json"
	kjson "sigs.k8s.io/json"
)

// unmarshal decodes like the API server: field names are case-sensitive, and
// unknown or repeated fields are not errors; exact is true if there are none.
// If the fast decoder fails, the API server's own decoder decides, with a new
// value.
func unmarshal[T any](raw []byte, empty func() T) (value T, exact bool, err error) {
	value = empty()
	if json.Unmarshal(raw, value, json.RejectUnknownMembers(true)) == nil {
		return value, true, nil
	}
	value = empty()
	if json.Unmarshal(raw, value) == nil {
		return value, false, nil
	}
	value = empty()
	return value, false, kjson.UnmarshalCaseSensitivePreserveInts(raw, value)
}
