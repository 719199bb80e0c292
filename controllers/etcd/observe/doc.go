// Package observe observes etcd clusters: what their controllers decide about
// is put together here, and nowhere else.
//
// An Observer reads the parts: pods, claims and nodes from the API server, the
// list of members from etcd, and from the members their status and what they
// received from each other. FromParts makes an observation of them. It is pure,
// so that tests can show it every combination of parts.
package observe
