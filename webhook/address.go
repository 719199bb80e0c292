package webhook

import "net/url"

// urlHost is the name or address in a URL, "" where there is none.
func urlHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
