package observe

import (
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A Database is the size of a member's database in bytes.
type Database struct {
	// Size is that of the file, and InUse the part of it that is not free.
	Size, InUse int64
	// Quota is the size at which etcd refuses writes; 0 if the member does not
	// report it, as before etcd 3.6.
	Quota int64
}

func databaseOf(s *clientv3.StatusResponse) *Database {
	return &Database{Size: s.DbSize, InUse: s.DbSizeInUse, Quota: s.DbSizeQuota}
}

// rounded returns the size for the status. A size that has changed by less than a
// tenth stays: the controller need not write the status of a cluster because its
// clients write.
func (d *Database) rounded(before *resource.Quantity) *resource.Quantity {
	if before != nil {
		if was := before.Value(); max(was-d.Size, d.Size-was) <= was/10 {
			return before
		}
	}
	unit := int64(1 << 10)
	if d.Size >= 10<<20 {
		unit = 1 << 20
	}
	return resource.NewQuantity((d.Size+unit-1)/unit*unit, resource.BinarySI)
}
