//go:build e2e

package backup_test

import "github.com/usher-dev/usher/test/objectstore"

// Stories that are too slow for make test, and that make e2e-etcd runs.
func init() {
	stalls["before it asks S3"] = objectstore.Fault{StallUp: 1}
	stalls["when it asked what is there"] = objectstore.Fault{StallDown: 1}
	stalls["near the end of a part"] = objectstore.Fault{StallUp: 5<<20 - 1000}
	stalls["near the end of reading"] = objectstore.Fault{StallDown: 11 << 20}
}
