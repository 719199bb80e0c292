package position

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Path converts a JSON pointer below a parent, "" for none, to a field path
// like the API's: spec.containers[0].name.
func Path(parent string, pointer jsontext.Pointer) string {
	var b strings.Builder
	b.WriteString(parent)
	for token := range pointer.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil, strings.ContainsAny(token, "./"):
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}
