package apiserver

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/servererrors"
)

// unknowns are kinds and fields that usher does not know, and a newer server may.
type unknowns struct {
	mutex sync.Mutex
	names map[string]bool
}

func (u *unknowns) add(name string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[name] = true
}

// Unjudged describes what Validate left out, because the server is newer than
// usher knows; "" if it left nothing out.
func (v *Validator) Unjudged() string {
	v.unknown.mutex.Lock()
	defer v.unknown.mutex.Unlock()
	if len(v.unknown.names) == 0 {
		return ""
	}
	return fmt.Sprintf("not validated, because %s may have them and usher does not know them: %s",
		v.server, strings.Join(slices.Sorted(maps.Keys(v.unknown.names)), ", "))
}

var index = regexp.MustCompile(`\[\d+\]`)

// forgiven removes findings about fields of a built-in kind that a newer server
// may have.
func (v *Validator) forgiven(kind schema.GroupVersionKind, found []finding.Finding) []finding.Finding {
	if v.minor <= Newest {
		return found
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		unknown := f.Rule == servererrors.UnknownField
		if unknown {
			v.unknown.add(kind.Kind + " " + index.ReplaceAllString(f.Field, "[]"))
		}
		return unknown
	})
}

// mayServe reports whether a server newer than usher knows may serve a kind that
// no known version serves.
func (v *Validator) mayServe(kind schema.GroupVersionKind) bool {
	if v.minor <= Newest || example(kind) != nil {
		return false
	}
	v.unknown.add(kind.Kind + " in " + kind.GroupVersion().String())
	return true
}
