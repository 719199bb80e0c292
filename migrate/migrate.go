// Package migrate turns an InitializerConfiguration, which Kubernetes had from
// 1.7 to 1.13, into the MutatingWebhookConfiguration that does the same today.
// What has no equal is said in comments beside the field it concerns.
//
// It is pure: the caller reads and writes.
package migrate

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Kind and Group are what an InitializerConfiguration is recognised by.
const (
	Kind  = "InitializerConfiguration"
	Group = "admissionregistration.k8s.io"
)

// A Migration is the configuration of today, and what is to be said about it.
type Migration struct {
	// Configuration has a webhook for each initializer that could be
	// converted, in the same order.
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
	// Message tells what was found, and what to write instead.
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
