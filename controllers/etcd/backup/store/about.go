package store

import (
	"strconv"
	"time"
)

// Metadata keys of an object.
const (
	aboutRevision = "etcd-revision"
	aboutVersion  = "etcd-version"
	aboutTaken    = "taken"
	aboutMaker    = "usher-backup"
)

// Encode returns the metadata of an object in a store.
func (a About) Encode() map[string]string {
	m := map[string]string{}
	if a.Revision != 0 {
		m[aboutRevision] = strconv.FormatInt(a.Revision, 10)
	}
	if a.Version != "" {
		m[aboutVersion] = a.Version
	}
	if !a.Taken.IsZero() {
		m[aboutTaken] = a.Taken.UTC().Format(time.RFC3339)
	}
	if a.Maker != "" {
		m[aboutMaker] = a.Maker
	}
	return m
}

// DecodeAbout decodes what it can: invalid values from others are treated as
// missing.
func DecodeAbout(m map[string]string) About {
	a := About{Version: m[aboutVersion], Maker: m[aboutMaker]}
	if revision, err := strconv.ParseInt(m[aboutRevision], 10, 64); err == nil && revision > 0 {
		a.Revision = revision
	}
	if taken, err := time.Parse(time.RFC3339, m[aboutTaken]); err == nil {
		a.Taken = taken
	}
	return a
}
