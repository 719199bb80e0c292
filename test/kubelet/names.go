package kubelet

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
)

// names replaces DNS: it is the proxy through which members reach each other by
// name, so that a name can change its address at any time, and it writes the
// hosts file with which a member compares names when it joins.
type names struct {
	listener net.Listener

	mu        sync.Mutex
	addresses map[string]string // pod.subdomain.namespace → IP
}

func serveNames() (*names, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &names{listener: listener, addresses: map[string]string{}}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     &http.Transport{DialContext: nil, Proxy: nil},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			address, ok := n.resolve(r.Host)
			if !ok {
				http.Error(w, "no pod is called "+r.Host, http.StatusBadGateway)
				return
			}
			if r.Method == http.MethodConnect {
				tunnel(w, address)
				return
			}
			r.URL.Host = address
			forward.ServeHTTP(w, r)
		}))
	}()
	return n, nil
}

func (n *names) close() { n.listener.Close() }

// url returns the proxy's URL.
func (n *names) url() string { return "http://" + n.listener.Addr().String() }

func (n *names) set(key, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses[key] = ip
}

// remove removes a name that still has that address.
func (n *names) remove(key, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addresses[key] == ip {
		delete(n.addresses, key)
	}
}

// hosts returns a hosts file with all names.
func (n *names) hosts() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var file strings.Builder
	fmt.Fprintln(&file, "127.0.0.1 localhost")
	for key, ip := range n.addresses {
		fmt.Fprintf(&file, "%s %s.svc %s.svc.cluster.local\n", ip, key, key)
	}
	return file.String()
}

func (n *names) resolve(host string) (string, bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return "", false
	}
	if net.ParseIP(name) != nil {
		return host, true
	}
	labels := strings.SplitN(name, ".", 4)
	if len(labels) < 3 {
		return "", false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ip, ok := n.addresses[strings.Join(labels[:3], ".")]
	return net.JoinHostPort(ip, port), ok
}

// tunnel connects the caller with the address, for TLS.
func tunnel(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		server.Close()
		return
	}
	fmt.Fprint(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
	client.Close()
}
