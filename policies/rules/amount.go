package rules

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/policies"
)

// amount is an integer or a percentage as the API server weighs it.
type amount struct {
	value   int
	percent bool
	text    string
}

// readAmount reads a value, or its default where it is not set.
func readAmount(v *intstr.IntOrString, otherwise string) amount {
	if v == nil {
		d := intstr.Parse(otherwise)
		v = &d
	}
	a := amount{text: v.String()}
	if v.Type == intstr.String && len(validation.IsValidPercent(v.StrVal)) == 0 {
		a.value, _ = strconv.Atoi(v.StrVal[:len(v.StrVal)-1])
		a.percent = true
		return a
	}
	a.value = v.IntValue()
	return a
}

// checkAmount reports a value that is no count of pods and no percentage of
// them. limited forbids more than 100%.
func checkAmount(p *policies.Pass, path *field.Path, name string, v *intstr.IntOrString, limited bool) {
	if v == nil {
		return
	}
	a := readAmount(v, "")
	path = path.Child(name)
	switch {
	case v.Type == intstr.String && !a.percent:
		p.Report(path, v.StrVal, name+" is "+strconv.Quote(v.StrVal)+": write an integer, or a percentage such as \"25%\"")
	case a.value < 0:
		p.Report(path, v.IntVal, name+" is "+a.text+": write zero or more, or a percentage such as \"25%\"")
	case limited && a.percent && a.value > 100:
		p.Report(path, v.StrVal, name+" is "+a.text+": write at most 100%")
	}
}
