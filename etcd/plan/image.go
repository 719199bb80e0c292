package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/etcd"
)

// compareDigests returns the members, whose revisions have no digest where it is
// the one in the spec for their version.
func (w *wanted) compareDigests(members []Member) []Member {
	members = slices.Clone(members)
	for i := range members {
		m := &members[i]
		m.PodRevision = etcd.CompareDigest(w.ClusterSpec, m.Target, m.PodRevision)
	}
	return members
}

// misnamed stops every change while the digest in the spec is that of another
// version: an upgrade would wait forever, and a member of the wrong version might
// not read the data.
func (d *decision) misnamed() *Step {
	for m := range d.listed {
		if !m.Answers || m.Pod.Digest == "" || m.Version == m.Target || m.Pod.Digest != etcd.ImageDigest(d.ClusterSpec, m.Target.String()) {
			continue
		}
		return d.stalled(StallImage, fmt.Sprintf("%s was told to run %s, and etcd reports %s in the image with the digest %s: write the digest of %s into spec.imageDigests, or write spec.version: %s with this digest",
			m.Name, m.Target, m.Version, m.Pod.Digest, m.Target, m.Version))
	}
	return nil
}

// withoutDigest returns a revision without the digest of an image.
func withoutDigest(revision string) string {
	revision, _, _ = strings.Cut(revision, "@")
	return revision
}
