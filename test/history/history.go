// Package history checks the requests, answers and watch events of an etcd
// cluster's clients: whether the cluster was linearizable, lost or repeated
// nothing, and sent every watch every change once and in order.
//
// It does not access a cluster. Package traffic records the histories.
package history

import (
	"fmt"
	"time"
)

// A Kind is what an operation does.
type Kind string

// The kinds of operations.
const (
	// Get reads the key.
	Get Kind = "get"
	// Put writes the value, whatever the key contains.
	Put Kind = "put"
	// Swap writes the value if the key was last modified at the expected
	// revision, and reads the key otherwise.
	Swap Kind = "swap"
	// Delete deletes the key.
	Delete Kind = "delete"
)

// A State is etcd's data for a key. The zero State is that of a key that does
// not exist.
type State struct {
	Value string
	// Version counts the writes since the key was created.
	Version int64
	// Created and Modified are revisions.
	Created, Modified int64
}

func (s State) String() string {
	if s == (State{}) {
		return "no key"
	}
	return fmt.Sprintf("%s (version %d, created at %d, modified at %d)", s.Value, s.Version, s.Created, s.Modified)
}

// An Operation is one request and its answer.
type Operation struct {
	Client int
	Kind   Kind
	Key    string
	// Value is the value of Put and Swap. It is unique among operations.
	Value string
	// Expected is the revision that Swap compares with; 0 expects that the key
	// does not exist.
	Expected int64
	// Call and Return are the times of the request and the answer, since the start
	// of the history.
	Call, Return time.Duration
	// Answer is nil if the outcome is unknown, as after a timeout.
	Answer *Answer
}

func (o Operation) String() string {
	s := fmt.Sprintf("client %d: %s %s", o.Client, o.Kind, o.Key)
	if o.Value != "" {
		s += " " + o.Value
	}
	if o.Kind == Swap {
		s += fmt.Sprintf(" if modified at %d", o.Expected)
	}
	s += fmt.Sprintf(" [%s, %s]", o.Call.Round(time.Microsecond), o.Return.Round(time.Microsecond))
	if o.Answer == nil {
		return s + ": unknown"
	}
	return fmt.Sprintf("%s: revision %d, found %s", s, o.Answer.Revision, o.Answer.Found)
}

// An Answer is etcd's answer to an operation.
type Answer struct {
	// Cluster is the ID of the cluster that answered.
	Cluster uint64
	// Revision is the revision of the store when the operation took effect.
	Revision int64
	// Wrote is true if the operation changed the key.
	Wrote bool
	// Found is the key's state before the operation.
	Found State
	// Inferred answers never arrived: the members' logs show that the operation
	// took effect, but not what it found.
	Inferred bool
}

// An Event is one change of a key.
type Event struct {
	Key     string
	Deleted bool
	// State is the state of the key after the change. For a deleted key it only
	// has the revision.
	State State
}

func (e Event) String() string {
	if e.Deleted {
		return fmt.Sprintf("deletion of %s at %d", e.Key, e.State.Modified)
	}
	return fmt.Sprintf("%s = %s", e.Key, e.State)
}

// Events are the changes that a watch received, or that a member has stored.
type Events struct {
	// Source names the watch or the member.
	Source string
	Events []Event
	// Incomplete explains why the last change is missing, if it is.
	Incomplete string
}

// A History contains everything that was recorded.
type History struct {
	Operations []Operation
	// Watches were open during the operations.
	Watches []Events
	// Logs are read at the end: every change since the beginning, as each
	// member has stored it.
	Logs []Events
	// Began and Ended are the interval in which clients wrote.
	Began, Ended time.Duration
}
