// Package migrate converts an InitializerConfiguration, which Kubernetes had
// from 1.7 to 1.13, to the equivalent MutatingWebhookConfiguration. Comments
// next to the fields explain what has no equivalent.
//
// It is pure: the caller reads and writes.
package migrate

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Kind and Group identify an InitializerConfiguration.
const (
	Kind  = "InitializerConfiguration"
	Group = "admissionregistration.k8s.io"
)

// A Migration is the new configuration, and remarks about it.
type Migration struct {
	// Configuration has a webhook for each converted initializer, in the same
	// order.
	Configuration *admissionv1.MutatingWebhookConfiguration
	// Problems are what could not be converted.
	Problems []Problem

	comments     comments
	combinations int // of all rules so far
}

// A Problem is a part that could not be converted.
type Problem struct {
	// Path is the field of the InitializerConfiguration, "" for all of it.
	Path string
	// Message explains what was found, and what to write instead.
	Message string
}

func (p Problem) Error() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

func (m *Migration) problem(path, format string, args ...any) {
	m.Problems = append(m.Problems, Problem{path, fmt.Sprintf(format, args...)})
}
