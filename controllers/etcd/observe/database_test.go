package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestDatabaseSizesChangeByATenth(t *testing.T) {
	for _, test := range []struct {
		before string
		size   int64
		want   string
	}{
		{"", 20 << 10, "20Ki"},
		{"", 20<<10 + 1, "21Ki"},
		{"", 2 << 30, "2Gi"},
		{"", 123<<20 + 5, "124Mi"},
		{"100Mi", 110 << 20, "100Mi"},
		{"100Mi", 110<<20 + 1, "111Mi"},
		{"100Mi", 90 << 20, "100Mi"},
		{"100Mi", 90<<20 - 1, "90Mi"},
	} {
		var before *resource.Quantity
		if test.before != "" {
			q := resource.MustParse(test.before)
			before = &q
		}
		if got := (&Database{Size: test.size}).rounded(before).String(); got != test.want {
			t.Errorf("%d after %q: %s, want %s", test.size, test.before, got, test.want)
		}
	}
}
