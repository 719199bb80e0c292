package podjson

import (
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
)

// An Operation is one step of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string         `json:"op"`
	Path  string         `json:"path"`
	Value jsontext.Value `json:"value,omitempty"`
	// From is the place from which "copy" takes the value.
	From string `json:"from,omitempty"`
}

// Add returns the operation that adds a value.
func Add(path string, value jsontext.Value) Operation {
	return Operation{Op: "add", Path: path, Value: value}
}

// A Patch is a JSON Patch, the only type that an admission webhook may answer
// with.
type Patch []Operation

// AppendJSON appends the patch to b. It writes values unchanged, so that
// nothing is escaped again.
func (p Patch) AppendJSON(b []byte) []byte {
	b = append(b, '[')
	for i, op := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"op":"`...)
		b = append(b, op.Op...)
		b = append(b, `","path":`...)
		// A path contains keys that the user may have chosen, so it is quoted.
		b, _ = jsontext.AppendQuote(b, op.Path)
		if op.From != "" {
			b = append(b, `,"from":`...)
			b, _ = jsontext.AppendQuote(b, op.From)
		}
		if op.Value != nil {
			b = append(b, `,"value":`...)
			b = append(b, op.Value...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// Size estimates how many bytes AppendJSON appends.
func (p Patch) Size() int {
	size := 2
	for _, op := range p {
		size += len(op.Op) + len(op.Path) + len(op.From) + len(op.Value) + len(`{"op":"","path":"","from":"","value":},`)
	}
	return size
}

// JSON returns the patch in the form of an admission webhook's response.
func (p Patch) JSON() []byte { return p.AppendJSON(make([]byte, 0, p.Size())) }

// Apply returns the object with the patch applied. Values that the patch does
// not change stay byte for byte.
func (p Patch) Apply(object []byte) ([]byte, error) {
	if len(p) == 0 {
		return object, nil
	}
	patch, err := jsonpatch.DecodePatch(p.JSON())
	if err != nil {
		return nil, fmt.Errorf("decoding the patch: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.EscapeHTML = false
	out, err := patch.ApplyWithOptions(object, options)
	if err != nil {
		return nil, fmt.Errorf("applying the patch: %w", err)
	}
	return out, nil
}

// Under returns the patch for an object that contains the patched one at path.
func (p Patch) Under(path string) Patch {
	if path == "" {
		return p
	}
	moved := make(Patch, len(p))
	for i, op := range p {
		op.Path = path + op.Path
		if op.From != "" {
			op.From = path + op.From
		}
		moved[i] = op
	}
	return moved
}

// Escape writes a key as a JSON Pointer's token (RFC 6901).
func Escape(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// Quoted writes a text as a JSON string.
func Quoted(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(make([]byte, 0, len(s)+2), s)
	return b
}

// A Pair is a label or an annotation.
type Pair struct{ Key, Value string }

// In reports whether a map has the key with the value, which may be empty.
func (p Pair) In(have map[string]string) bool {
	value, ok := have[p.Key]
	return ok && value == p.Value
}

// AppendMap adds keys to a map, and creates the map if necessary.
func AppendMap(patch Patch, path string, have map[string]string, pairs []Pair) Patch {
	if have != nil {
		for _, p := range pairs {
			op := "add"
			if _, set := have[p.Key]; set {
				op = "replace" // the record, which is usher's own
			}
			patch = append(patch, Operation{Op: op, Path: path + "/" + Escape(p.Key), Value: Quoted(p.Value)})
		}
		return patch
	}
	if len(pairs) == 0 {
		return patch
	}
	value := jsontext.Value("{")
	for i, p := range pairs {
		if i > 0 {
			value = append(value, ',')
		}
		value, _ = jsontext.AppendQuote(value, p.Key)
		value = append(value, ':')
		value, _ = jsontext.AppendQuote(value, p.Value)
	}
	return append(patch, Add(path, append(value, '}')))
}
