// Package webhook wires the server that the API server calls.
//
//	review        the request path: read, decode, decide, respond
//	admit         the handlers, one a file
//	entry         what handlers declare to be sent
//	registration  the webhook configurations, kept by one replica
//	serving       listener, health and shutdown
//	tracing       spans of requests
package webhook
