package apiserver

import (
	"errors"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/servererrors"
)

func of(rule, field string, value any, message string) finding.Finding {
	return finding.Finding{
		Rule: rule, Level: finding.Invariant, RefusedByServer: true, Field: field, Value: value, Message: message,
	}
}

func refused(field string, value any, message string) finding.Finding {
	if field == nowhere {
		field = ""
	}
	return of(servererrors.Other, field, value, message)
}

// nowhere is the path of the whole object in the server's code.
const nowhere = "<nil>"

// incomplete is how the server says that it did not evaluate the rules of a custom
// resource, because the object is invalid.
const incomplete = "some validation rules were not checked because the object was invalid"

// refusals converts the errors of a strategy, or of the server around it, to
// findings.
func refusals(err error, known field.ErrorList) []finding.Finding {
	var found []finding.Finding
	for _, e := range known {
		if len(known) > 1 && strings.HasPrefix(e.Detail, incomplete) {
			continue // the others say what is wrong
		}
		found = append(found, refused(e.Field, scalar(e.BadValue), e.ErrorBody()))
	}
	if len(known) > 0 {
		return found
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			found = append(found, refused(c.Field, nil, c.Message))
		}
	}
	if len(found) == 0 {
		found = append(found, refused("", nil, err.Error()))
	}
	return found
}

// scalar returns a value that means something outside of the server, else nil.
func scalar(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	}
	return nil
}
