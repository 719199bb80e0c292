package neutron

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// A Proxy is in front of a server and makes requests fail.
type Proxy struct {
	// URL is the URL of the proxy.
	URL string

	server *httptest.Server
	mu     sync.Mutex
	calls  []string
	faults []Fault
}

// A Fault describes what happens to requests.
type Fault struct {
	// Method and Path select the requests: the end of the path, without its ids.
	// Empty means any.
	Method, Path string
	// Skip lets the first ones pass.
	Skip int
	// Times is how often it happens, zero for always.
	Times int
	// Handle replaces the server, to which forward sends.
	Handle func(w http.ResponseWriter, r *http.Request, forward http.Handler)

	seen int
}

// NewProxy starts a proxy for the server at that address; the caller closes it.
func NewProxy(target string) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	// The server keeps no connections open.
	forward.Transport = &http.Transport{DisableKeepAlives: true}
	forward.ErrorLog = log.New(io.Discard, "", 0) // clients that go away are the point
	p := &Proxy{}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handle := p.next(r); handle != nil {
			handle(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	p.URL = p.server.URL
	return p, nil
}

// Close stops the proxy.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// Inject adds a fault.
func (p *Proxy) Inject(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
}

// Heal removes all faults.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// Calls returns the requests since its last call, such as "GET networks".
func (p *Proxy) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// next counts a request and returns its fault, if any.
func (p *Proxy) next(r *http.Request) func(http.ResponseWriter, *http.Request, http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := collection(r.URL.Path)
	p.calls = append(p.calls, r.Method+" "+path)
	for i := range p.faults {
		f := &p.faults[i]
		if f.Method != "" && f.Method != r.Method || f.Path != "" && f.Path != path {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			return f.Handle
		}
	}
	return nil
}

// collection returns the collection of a path: "networks" for
// /v2.0/networks/4f... .
func collection(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/v2.0/"), "/")
	return name
}

// Answer answers in place of the server.
func Answer(status int, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// CutBefore closes the connection instead of forwarding the request.
func CutBefore(http.ResponseWriter, *http.Request, http.Handler) {
	panic(http.ErrAbortHandler)
}

// CutAfter forwards the request, and closes the connection instead of
// answering.
func CutAfter(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// First does something before the server handles the request.
func First(do func()) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		do()
		forward.ServeHTTP(w, r)
	}
}
