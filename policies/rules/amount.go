package rules

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// amount is an integer or a percentage, interpreted like in the API server.
type amount struct {
	value   int
	percent bool
	text    string
}

// readAmount reads a value, or its default if it is not set.
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
