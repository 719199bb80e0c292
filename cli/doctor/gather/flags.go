package gather

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/cli/doctor"
)

// flags returns the flags of etcdctl for the same connection, without endpoints and
// without the password.
func (c *Config) flags() string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{{"cacert", c.CACert}, {"cert", c.Cert}, {"key", c.Key}, {"user", c.User}} {
		if f.value != "" {
			fmt.Fprintf(&b, " --%s=%s", f.name, doctor.Quote(f.value))
		}
	}
	if c.SkipVerify {
		b.WriteString(" --insecure-skip-tls-verify")
	}
	return b.String()
}

// Endpoint reports what is wrong with the text of an endpoint; "" if nothing is.
func Endpoint(text string) string {
	const want = "write HOST:PORT or a URL, such as https://etcd-0.example.com:2379"
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "http", text
	}
	switch scheme {
	case "unix", "unixs":
		return ""
	case "http", "https":
	default:
		return fmt.Sprintf("%q has the scheme %s; %s", text, scheme, want)
	}
	host, port, err := net.SplitHostPort(strings.TrimSuffix(rest, "/"))
	if err != nil || host == "" || strings.ContainsAny(host, " /@?#") {
		return fmt.Sprintf("%q is not an endpoint; %s", text, want)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Sprintf("%q has the port %q; %s", text, port, want)
	}
	return ""
}
