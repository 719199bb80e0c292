package policies

import (
	"github.com/go-json-experiment/json"
	kjson "sigs.k8s.io/json"
)

// unmarshal decodes as the API server does: names of fields are case-sensitive,
// unknown ones and repeated ones are no error; exact says that there are none.
// What the fast decoder does not take the API server's own decides about, into a
// value of its own.
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
