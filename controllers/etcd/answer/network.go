package answer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// A Refusal is the error of a connection that usher itself did not open. Its
// text is usher's.
type Refusal interface {
	error
	Refusal()
}

// Network says why a connection failed; "" if it did not, as far as the error
// tells.
func Network(err error) string {
	if refused := Refusal(nil); errors.As(err, &refused) {
		return refused.Error()
	}
	if name := (*net.DNSError)(nil); errors.As(err, &name) {
		if name.IsNotFound {
			return "its name does not resolve"
		}
		return "DNS does not answer for its name"
	}
	if words := secured(err); words != "" {
		return words
	}
	var timed net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the network does not lead to it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timed) && timed.Timeout(), errors.Is(err, syscall.ETIMEDOUT):
		return "it does not answer in time"
	case errors.Is(err, context.Canceled):
		return "usher stopped waiting for it"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "it closed the connection"
	}
	return ""
}

// secured says why TLS failed. A certificate's names are the server's words.
func secured(err error) string {
	var (
		record      tls.RecordHeaderError
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		invalid     x509.CertificateInvalidError
		certificate *tls.CertificateVerificationError
		op          *net.OpError
	)
	switch {
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.As(err, &authority):
		return "its certificate is from an unknown CA"
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not yet valid"
	case errors.As(err, &invalid), errors.As(err, &certificate):
		return "its certificate is not valid"
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return "it ended the TLS handshake"
	}
	return ""
}
