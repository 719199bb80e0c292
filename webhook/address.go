package webhook

import (
	"net"
	"net/url"
	"strconv"
)

// splitAddress reads host:port; the host may be empty.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}

// urlHost is the name or address in a URL, "" where there is none.
func urlHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
