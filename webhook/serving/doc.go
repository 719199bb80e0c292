// Package serving runs the server that the API server calls: its listener with
// TLS and client certificates, its health endpoints, and its draining.
package serving
