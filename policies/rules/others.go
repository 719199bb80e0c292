package rules

import (
	"strconv"
	"strings"

	"github.com/usher-dev/usher/finding"
)

// namedOthers is the maximum number of other objects that a finding names.
const namedOthers = 3

// others collects the other objects of a finding.
type others struct {
	names []string
	count int
}

func (o *others) add(name string) {
	if o.count++; len(o.names) < namedOthers {
		o.names = append(o.names, name)
	}
}

// String lists the names.
func (o *others) String() string {
	list := strings.Join(o.names, ", ")
	if more := o.count - len(o.names); more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return list
}

// number describes the objects without their names.
func (o *others) number(what string) string {
	return finding.Count(o.count, "other "+what)
}
