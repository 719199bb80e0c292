package gather

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/cli/doctor"
)

// mostMetrics limits how much of a member's metrics is read, in bytes.
const mostMetrics = 8 << 20

// readMetrics reads the metrics that say what a status does not, for which members
// demand no user. The trouble is that of TLS, if the member ends it.
func (a *asked) readMetrics(ctx context.Context, c *Config, secure secured) *doctor.Trouble {
	ctx, cancel := context.WithTimeout(ctx, c.CommandTimeout)
	defer cancel()
	network, address, encrypted := target(a.URL, secure.Config != nil)
	url := "http://" + address + "/metrics"
	if encrypted {
		url = "https://" + address + "/metrics"
	}
	if network == "unix" {
		return nil
	}
	transport := &http.Transport{TLSClientConfig: secure.Config, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil // the calls say what is wrong with the endpoint
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		var operation *net.OpError
		if errors.As(err, &operation) && operation.Op == "remote error" {
			return &doctor.Trouble{Kind: doctor.TLS, Words: "it ends the TLS handshake: " + operation.Err.Error()}
		}
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		a.Metrics = parse(io.LimitReader(response.Body, mostMetrics))
	}
	return nil
}

// parse reads the lines of metrics.
func parse(text io.Reader) doctor.Metrics {
	var m doctor.Metrics
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "etcd_server_quota_backend_bytes":
			if number >= 0 && number < 1<<62 {
				m.Quota = int64(number)
			}
		case "etcd_server_has_leader":
			has := number == 1
			m.HasLeader = &has
		}
	}
	return m
}
