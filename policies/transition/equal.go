package transition

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// empty reports whether a value means the same as its absence if the Go type is
// not a pointer: null, zero, "", an empty list or map.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	n, ok := number(v)
	return ok && n.Sign() == 0
}

// number returns a JSON number, however it was decoded.
func number(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v), true
	case int:
		return new(big.Float).SetInt64(int64(v)), true
	case int32:
		return new(big.Float).SetInt64(int64(v)), true
	case uint64:
		return new(big.Float).SetUint64(v), true
	case float64:
		if math.IsNaN(v) {
			return nil, false
		}
		return big.NewFloat(v), true
	case json.Number:
		if len(v) > maxQuantity {
			return nil, false
		}
		f, _, err := big.ParseFloat(v.String(), 10, 64, big.ToNearestEven)
		return f, err == nil
	}
	return nil, false
}

// sameScalar compares strings, booleans and numbers; 1 and 1.0 are the same.
func sameScalar(a, b any) bool {
	switch a := a.(type) {
	case string:
		s, ok := b.(string)
		return ok && a == s
	case bool:
		v, ok := b.(bool)
		return ok && a == v
	case int64:
		if v, ok := b.(int64); ok {
			return a == v
		}
	case float64:
		if v, ok := b.(float64); ok {
			return a == v
		}
	}
	x, ok := number(a)
	y, ok2 := number(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// maxQuantity limits the length of numbers to parse: tiny exponents are
// expensive.
const maxQuantity = 64

// sameQuantity compares quantities by value, in the server's precision.
func sameQuantity(a, b any) bool {
	if sameScalar(a, b) {
		return true
	}
	x, ok := parseQuantity(a)
	y, ok2 := parseQuantity(b)
	return ok && ok2 && x.Cmp(y) == 0
}

func parseQuantity(v any) (resource.Quantity, bool) {
	s, ok := v.(string)
	if !ok {
		n, ok := number(v)
		if !ok {
			return resource.Quantity{}, false
		}
		s = n.Text('f', -1)
	}
	if i := strings.IndexAny(s, "eE"); len(s) > maxQuantity || i >= 0 && len(s)-i > 4 {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return resource.Quantity{}, false
	}
	q.RoundUp(resource.Milli)
	return q, true
}

// same compares values without a schema; null members are absent ones.
func same(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return false
		}
		if reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer() {
			return true // DecodeBoth has decoded both at once
		}
		for k, v := range x {
			if !same(v, y[k]) {
				return false
			}
		}
		for k, v := range y {
			if _, ok := x[k]; !ok && v != nil {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if len(x) > 0 && &x[0] == &y[0] {
			return true
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return sameScalar(a, b)
}
