package etcd

import (
	"cmp"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Image returns the image of a version.
func Image(spec *v1beta2.ClusterSpec, version string) string {
	image := cmp.Or(spec.Repository, DefaultRepository) + ":v" + version
	if digest := ImageDigest(spec, version); digest != "" {
		image += "@" + digest
	}
	return image
}

// ImageDigest returns the digest of a version's image; "" if the spec has none.
func ImageDigest(spec *v1beta2.ClusterSpec, version string) string {
	return string(spec.ImageDigests[version])
}

// CompareDigest removes the digest from the revision of a pod that runs the
// version, if it is the one in the spec: then only the rest decides whether the
// pod is current. Otherwise the revision stays unlike any that PodRevision
// returns.
func CompareDigest(spec *v1beta2.ClusterSpec, version Version, revision string) string {
	rest, digest, found := strings.Cut(revision, "@")
	want := ImageDigest(spec, version.String())
	if digest == want {
		return rest
	}
	if !found {
		return revision + "@"
	}
	return revision
}
