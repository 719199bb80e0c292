package plan

// An Alarm is an alarm of etcd. Every member knows the alarms of all, and
// etcd keeps each until somebody disarms it.
type Alarm string

// The alarms.
const (
	// NoSpace: a database has reached its quota, and etcd refuses writes. It still
	// answers reads.
	NoSpace Alarm = "NOSPACE"
	// Corrupt: the data of a member differs from that of the others, and etcd
	// refuses reads and writes.
	Corrupt Alarm = "CORRUPT"
)

// Alarms are the alarms of etcd.
var Alarms = []Alarm{NoSpace, Corrupt}
