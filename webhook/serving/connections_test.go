package serving

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A rawClient is a TLS connection that sends what a test writes.
type rawClient struct {
	*tls.Conn
	answers *bufio.Reader
}

func (s *served) raw(t *testing.T) *rawClient {
	t.Helper()
	return s.rawFrom(t, "127.0.0.1")
}

// rawFrom connects from an address of this machine.
func (s *served) rawFrom(t *testing.T, address string) *rawClient {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := tls.DialWithDialer(dialer, "tcp", s.address(), s.client.Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rawClient{conn, bufio.NewReader(conn)}
}

// send sends a request, or only its beginning.
func (c *rawClient) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// answered reads a response; false if the server closed the connection.
func (c *rawClient) answered(t *testing.T) bool {
	t.Helper()
	res, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

// asks sends a request and reads its response; false if the server closed the
// connection, which sending notices if the reset has already arrived.
func (c *rawClient) asks(t *testing.T) bool {
	t.Helper()
	_, err := io.WriteString(c, request)
	return err == nil && c.answered(t)
}

// closed returns how many connections were closed because of the limit, by cause.
func (s *served) closed(t *testing.T) map[cause]float64 {
	t.Helper()
	families, err := s.values.Gather()
	if err != nil {
		t.Fatal(err)
	}
	causes := map[cause]float64{}
	for _, f := range families {
		if f.GetName() != "usher_connections_closed_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue(); n > 0 {
				causes[cause(m.GetLabel()[0].GetValue())] = n
			}
		}
	}
	return causes
}

const (
	header  = "POST /mutate HTTP/1.1\r\nHost: usher\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
	request = header + "{}"
)

// TestConnectionsBeyondTheLimitCloseTheOldest opens a connection more than the
// limit of three, whose states differ.
func TestConnectionsBeyondTheLimitCloseTheOldest(t *testing.T) {
	const limit = 3
	for name, tc := range map[string]struct {
		// sent is what each connection has sent when the last one is opened.
		sent [limit]string
		// closed is the connection that is closed for it, and why.
		closed int
		cause  cause
	}{
		"idle, the oldest":                  {[limit]string{request, request, request}, 0, causeIdle},
		"in the middle of a header":         {[limit]string{header[:30], header[:30], header[:30]}, 0, causeHeader},
		"without a byte":                    {[limit]string{"", "", ""}, 0, causeHeader},
		"sending a body":                    {[limit]string{header, header, header}, 0, causeBody},
		"idle before those that send":       {[limit]string{header, header, request}, 2, causeIdle},
		"in a header before those with one": {[limit]string{header, header[:30], header}, 1, causeHeader},
	} {
		t.Run(name, func(t *testing.T) {
			bodies := make(chan struct{}, 4*limit)
			s := serve(t, Options{MaxConnections: limit}, 0, func(w http.ResponseWriter, r *http.Request) {
				bodies <- struct{}{}
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					allow(w, r)
				}
			})
			var clients [limit]*rawClient
			for i, sent := range tc.sent {
				clients[i] = s.raw(t)
				clients[i].send(t, sent)
				if strings.HasPrefix(sent, header) {
					<-bodies
				}
				if sent == request {
					if !clients[i].answered(t) {
						t.Fatal("a connection within the limit was closed")
					}
					<-s.idle
				}
			}
			last := s.raw(t)
			last.send(t, request)
			if !last.answered(t) {
				t.Error("the last connection was not answered")
			}
			if diff := cmp.Diff(map[cause]float64{tc.cause: 1}, s.closed(t)); diff != "" {
				t.Errorf("closed by cause (-want +got):\n%s", diff)
			}
			if clients[tc.closed].answered(t) {
				t.Errorf("connection %d is open", tc.closed)
			}
			for i, sent := range tc.sent {
				if i == tc.closed {
					continue
				}
				rest := strings.TrimPrefix(request, sent)
				if sent == request { // it was answered, and sends another
					rest = request
				}
				clients[i].send(t, rest)
				if !clients[i].answered(t) {
					t.Errorf("connection %d was closed", i)
				}
			}
		})
	}
}

// TestTheConnectionsInUseAreKeptWhoeverHoldsMost has the API server use more
// connections than each of many other addresses holds.
func TestTheConnectionsInUseAreKeptWhoeverHoldsMost(t *testing.T) {
	const limit, others, own = 30, 20, 10
	s := serve(t, Options{MaxConnections: limit}, 0, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		allow(w, r)
	})
	flood := func(connections int) {
		for i := range connections {
			s.rawFrom(t, fmt.Sprintf("127.0.1.%d", 1+i%others))
		}
	}
	flood(limit - own)
	var used [own]*rawClient
	for i := range used {
		used[i] = s.rawFrom(t, "127.0.0.1")
		if !used[i].asks(t) {
			t.Fatalf("request %d was not answered", i)
		}
		<-s.idle
	}
	flood(others)
	for i, c := range used {
		if !c.asks(t) {
			t.Errorf("connection %d, used after those of the flood, was closed", i)
		}
	}
}

// TestTheOldestConnectionIsClosedFromWhateverAddress opens one connection from each
// address.
func TestTheOldestConnectionIsClosedFromWhateverAddress(t *testing.T) {
	const limit = 3
	s := serve(t, Options{MaxConnections: limit}, 0, allow)
	var clients [2 * limit]*rawClient
	for i := range clients {
		clients[i] = s.rawFrom(t, fmt.Sprintf("127.0.0.%d", i+1))
	}
	for i, c := range clients {
		if got, want := c.asks(t), i >= limit; got != want {
			t.Errorf("connection %d: answered is %t, want %t", i, got, want)
		}
	}
}

// TestRequestsThatArrivedKeepTheirConnections fills the limit with requests that
// are being decided.
func TestRequestsThatArrivedKeepTheirConnections(t *testing.T) {
	const limit = 3
	deciding, decide := make(chan struct{}), make(chan struct{})
	s := serve(t, Options{MaxConnections: limit}, 0, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		deciding <- struct{}{}
		<-decide
		allow(w, r)
	})
	var clients [limit]*rawClient
	for i := range clients {
		clients[i] = s.raw(t)
		clients[i].send(t, request)
		<-deciding
	}
	refused, err := tls.Dial("tcp", s.address(), s.client.Transport.(*http.Transport).TLSClientConfig)
	if err == nil {
		_ = refused.Close()
		t.Error("a connection beyond the limit was opened")
	}
	if diff := cmp.Diff(map[cause]float64{causeFull: 1}, s.closed(t)); diff != "" {
		t.Errorf("closed by cause (-want +got):\n%s", diff)
	}
	close(decide)
	for i, c := range clients {
		if !c.answered(t) {
			t.Errorf("request %d was not answered", i)
		}
		<-s.idle
	}
	// Their connections are idle now, and make room.
	go func() { <-deciding }()
	if a := s.post(); a.err != nil {
		t.Error(a.err)
	}
}
