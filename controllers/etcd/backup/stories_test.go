//go:build e2e

package backup_test

import "github.com/usher-dev/usher/test/objectstore"

// What make test has no time for, and make e2e-etcd tries.
func init() {
	stalls["before it asks S3"] = objectstore.Fault{StallUp: 1}
	stalls["when it asked what is there"] = objectstore.Fault{StallDown: 1}
	stalls["near the end of a part"] = objectstore.Fault{StallUp: 5<<20 - 1000}
	stalls["near the end of reading"] = objectstore.Fault{StallDown: 11 << 20}
}
