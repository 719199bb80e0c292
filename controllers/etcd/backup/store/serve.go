package store

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// Serve serves the store to the Volume at the other end of the connection, until
// the connection or the context ends, and what is unfinished is removed. It
// closes the connection.
func Serve(ctx context.Context, conn net.Conn, from Store) error {
	watched := &watchedConn{Conn: conn, gone: make(chan struct{})}
	var busy sync.RWMutex
	handler := served(from)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if busy.TryRLock() {
				defer busy.RUnlock()
				handler.ServeHTTP(w, r)
			}
		}),
		Protocols: connectionProtocols(), HTTP2: connectionConfig(),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(&single{conn: watched})
	_ = server.Close()
	busy.Lock() // and forever: requests are no longer served
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// single is a listener for a single connection.
type single struct {
	conn  *watchedConn
	taken bool
}

// Accept implements net.Listener.
func (s *single) Accept() (net.Conn, error) {
	if !s.taken {
		s.taken = true
		return s.conn, nil
	}
	<-s.conn.gone
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (s *single) Close() error { return s.conn.Close() }

// Addr implements net.Listener.
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }

// served serves a store.
func served(from Store) http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, do func(w http.ResponseWriter, r *http.Request, key string) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := do(w, r, r.URL.Query().Get("key")); err != nil {
				refuse(w, err)
			}
		})
	}
	answer("PUT "+pathObject, func(_ http.ResponseWriter, r *http.Request, key string) error {
		var about About
		if err := json.Unmarshal([]byte(r.Header.Get(headerAbout)), &about); err != nil {
			return err
		}
		return from.Put(r.Context(), key, about, r.Body)
	})
	answer("GET "+pathObject, func(w http.ResponseWriter, r *http.Request, key string) error {
		body, o, err := from.Get(r.Context(), key)
		if err != nil {
			return err
		}
		defer body.Close()
		said, err := json.Marshal(o)
		if err != nil {
			return err
		}
		w.Header().Set(headerObject, string(said))
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(o.Size, 10))
		if _, err := io.Copy(w, body); err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take it for complete
		}
		return nil
	})
	answer("GET "+pathAbout, func(w http.ResponseWriter, r *http.Request, key string) error {
		o, err := from.Stat(r.Context(), key)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(o)
	})
	answer("GET "+pathList, func(w http.ResponseWriter, r *http.Request, prefix string) error {
		all, err := from.List(r.Context(), prefix)
		if err != nil {
			return err
		}
		for objects := json.NewEncoder(w); len(all) > 0; all = all[1:] {
			if err := objects.Encode(all[0]); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		return nil
	})
	answer("GET "+pathReady, func(http.ResponseWriter, *http.Request, string) error { return nil })
	answer("DELETE "+pathObject, func(_ http.ResponseWriter, r *http.Request, key string) error {
		return from.Delete(r.Context(), key)
	})
	return mux
}

// refuse reports why a request failed.
func refuse(w http.ResponseWriter, err error) {
	reason, status := ReasonOf(err), http.StatusServiceUnavailable
	if reason == NotFound {
		status = http.StatusNotFound
	}
	w.Header().Set(headerReason, string(reason))
	http.Error(w, err.Error(), status)
}
