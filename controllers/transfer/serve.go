// Package transfer serves pods that usher started: over TLS, with each pod
// authenticated by a ServiceAccount token that is valid only for this purpose
// and for minutes. It sends a backup only to the pod of the restored cluster.
package transfer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The API server's names for the pod that a token is bound to.
const (
	extraPod = "authentication.kubernetes.io/pod-name"
	extraUID = "authentication.kubernetes.io/pod-uid"
)

// Options configures the server, and the image of its pods.
type Options struct {
	// Address is host:port to listen on.
	Address string
	// Host is the host by which pods reach this one, its IP; by default this
	// machine's name.
	Host string
	// Image is the image of those pods, by default that of this pod.
	Image string
	// Namespace is usher's own namespace, which contains this pod.
	Namespace string
}

// A Server serves pods of usher. Its certificate is valid as long as it runs.
type Server struct {
	// URL is its URL for pods, CA the certificate of its CA in PEM.
	URL, CA string

	options  Options
	listener net.Listener
	mux      *http.ServeMux
	reviews  client.Client
	reader   client.Reader
	log      logr.Logger
}

// New returns a listening server. The reader reads from the API server.
func New(o Options, reviews client.Client, reader client.Reader, log logr.Logger) (*Server, error) {
	if o.Host == "" { // not in a pod
		var err error
		if o.Host, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	certificate, ca, err := selfSigned(o.Host)
	if err != nil {
		return nil, fmt.Errorf("creating the certificate of %s: %w", o.Host, err)
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for pods: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	return &Server{
		URL: "https://" + net.JoinHostPort(o.Host, port), CA: ca,
		options: o, mux: http.NewServeMux(), reviews: reviews, reader: reader, log: log,
		listener: tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS13}),
	}, nil
}

// ID changes with the server's URL and CA.
func (s *Server) ID() string {
	sum := sha256.Sum256([]byte(s.URL + s.CA))
	return hex.EncodeToString(sum[:8])
}

// Handle registers a handler for a pattern of net/http, before Start.
func (s *Server) Handle(pattern string, handler http.HandlerFunc) { s.mux.HandleFunc(pattern, handler) }

// Image returns the image of the pods.
func (s *Server) Image(ctx context.Context) (string, error) {
	if s.options.Image != "" {
		return s.options.Image, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	self := &corev1.Pod{}
	if err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, self); err != nil {
		return "", fmt.Errorf("reading the image of this pod; set --snapshot-image instead: %w", err)
	}
	return self.Spec.Containers[0].Image, nil
}

// Start implements manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	server := &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = server.Close() // clients continue with the next server
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A Caller is the pod that a token is bound to.
type Caller struct {
	Name string
	UID  types.UID
	// Account is the name of its ServiceAccount.
	Account string
}

// Caller returns the pod in that namespace whose token for that audience the
// request has.
func (s *Server) Caller(r *http.Request, namespace, audience string) (Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Caller{}, errors.New("the request has no token")
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := s.reviews.Create(r.Context(), review); err != nil {
		return Caller{}, fmt.Errorf("reviewing the token: %w", err)
	}
	user := review.Status.User
	account, ofNamespace := strings.CutPrefix(user.Username, "system:serviceaccount:"+namespace+":")
	names, uids := user.Extra[extraPod], user.Extra[extraUID]
	switch {
	case !review.Status.Authenticated:
		return Caller{}, errors.New("the API server does not know the token")
	// An authenticator without support for audiences accepts any token, and leaves
	// the field empty (see TokenReviewSpec.audiences).
	case !slices.Contains(review.Status.Audiences, audience):
		return Caller{}, fmt.Errorf("the token is for %q, not for %s", review.Status.Audiences, audience)
	case !ofNamespace:
		return Caller{}, fmt.Errorf("the token belongs to %s", user.Username)
	case len(names) != 1 || len(uids) != 1:
		return Caller{}, errors.New("the token is not bound to a pod")
	}
	return Caller{names[0], types.UID(uids[0]), account}, nil
}

// selfSigned returns a self-signed certificate for a host.
func selfSigned(host string) (*tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, "", err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "usher-snapshot"},
		// The process does not live that long.
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
