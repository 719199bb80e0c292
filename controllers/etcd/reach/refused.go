package reach

import "fmt"

// Flag is the flag of the controller that lists stores.
const Flag = "--store-endpoints"

// A Refused is the error of a connection that the controller must not make.
type Refused struct {
	// Host is the host and port as the object names them.
	Host string
	// Resolved is the address that the host led to. It is for the log: a tenant
	// must not read the controller's DNS.
	Resolved string
	// Leads completes the sentence "it leads to …".
	Leads string
}

// Refusal implements answer.Refusal.
func (*Refused) Refusal() {}

// Error implements error.
func (e *Refused) Error() string {
	return fmt.Sprintf("%s leads to %s, to which usher does not connect for an object of a namespace: the cluster's administrator can allow it with %s=%s of usher's controller, in the chart controller.storeEndpoints",
		e.Host, e.Leads, Flag, e.Host)
}

// RetryableError implements an interface of AWS' SDK: another attempt would be
// refused as well.
func (e *Refused) RetryableError() bool { return false }

// An Unchecked is the error of a connection that the controller did not make
// because it could not read to whom an address belongs. That is usher's own
// fault, neither a permission nor a refusal.
type Unchecked struct{ Err error }

// Error implements error.
func (e *Unchecked) Error() string {
	return "usher could not check to whom an address belongs, and did not connect to it: " + e.Err.Error()
}

// Unwrap returns the API server's error.
func (e *Unchecked) Unwrap() error { return e.Err }

// RetryableError implements an interface of AWS' SDK: the controller retries
// later.
func (e *Unchecked) RetryableError() bool { return false }
