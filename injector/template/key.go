package template

import (
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
)

// CutKey splits one of usher's annotation keys into the template's name and,
// for an override, the part after its dot.
func CutKey(key string) (template, rest string, ours bool) {
	name, ok := strings.CutPrefix(key, wellknown.InitializerPrefix)
	if !ok {
		if name, ok = strings.CutPrefix(key, wellknown.InjectPrefix); !ok {
			return "", "", false
		}
	}
	template, rest, _ = strings.Cut(name, ".")
	return template, rest, true
}
