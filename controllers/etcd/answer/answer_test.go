package answer_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

const secret = "token=hunter2"

func TestNetwork_NamesEveryFailure(t *testing.T) {
	for want, err := range map[string]error{
		"it refuses the connection":                       &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"the network does not lead to it":                 &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		"it does not answer in time":                      context.DeadlineExceeded,
		"usher stopped waiting for it":                    context.Canceled,
		"it closed the connection":                        io.ErrUnexpectedEOF,
		"its name does not resolve":                       &net.DNSError{Err: secret, Name: secret, Server: secret, IsNotFound: true},
		"DNS does not answer for its name":                &net.DNSError{Err: secret, Name: secret, Server: secret, IsTimeout: true},
		"it does not speak TLS":                           tls.RecordHeaderError{Msg: secret},
		"its certificate is from an unknown CA":           x509.UnknownAuthorityError{},
		"its certificate is for another name":             x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{secret}}, Host: "store"},
		"its certificate has expired or is not yet valid": x509.CertificateInvalidError{Reason: x509.Expired, Detail: secret},
		"its certificate is not valid":                    x509.CertificateInvalidError{Reason: x509.TooManyIntermediates, Detail: secret},
		"it ended the TLS handshake":                      &net.OpError{Op: "remote error", Err: errors.New(secret)},
		(&reach.Refused{Host: "a:1", Leads: "b"}).Error(): &net.OpError{Op: "dial", Err: &reach.Refused{Host: "a:1", Resolved: secret, Leads: "b"}},
		"": errors.New("malformed HTTP response " + secret),
	} {
		if got := answer.Network(fmt.Errorf("%s: %w", secret, err)); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

func TestSaid_IsShortAndHarmlessInALog(t *testing.T) {
	err := fmt.Errorf("saving: %w", answer.New(errors.New("a\r\n\x1b[2J\u202e\x00"+strings.Repeat("ü", 1000)), "usher's words"))
	said := answer.Said(errors.Join(err, context.Canceled))
	if err.Error() != "saving: usher's words" {
		t.Errorf("the error is %q", err)
	}
	if strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r > '~' }) || len(said) > 2000 || !strings.HasPrefix(said, `"a\r\n\x1b[2J\u202e\x00\u00fc`) {
		t.Errorf("the log says %s", said)
	}
	if said := answer.Said(errors.New("another")); said != "" {
		t.Errorf("of another error the log says %s", said)
	}
}
