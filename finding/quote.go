package finding

import "strings"

// Quote returns a value for a message, at most 80 bytes of it.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}
