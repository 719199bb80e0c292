// Package handover hands a backup over to the pod that a cluster is restored in:
// over TLS, to that pod alone, which proves who it is by a token of its
// ServiceAccount that is for nothing else and lasts minutes.
package handover

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
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Audience is what the tokens are for.
const Audience = "usher-snapshot"

// extraPod is what the API server says of the pod that a token is bound to.
const extraPod = "authentication.kubernetes.io/pod-name"

// A Source opens the backup for a pod, or refuses it.
type Source interface {
	// Backup returns the backup that the pod is to be restored from, and its
	// size.
	Backup(ctx context.Context, namespace, restore, pod string) (io.ReadCloser, int64, error)
}

// A Server hands backups over. Its certificate lives as long as it.
type Server struct {
	// URL is where pods find it, CA who signed for it, in PEM.
	URL, CA string

	listener net.Listener
	source   Source
	reviews  client.Client
	log      logr.Logger
}

// New returns a server that listens on an address, and that pods find at a host.
func New(address, host string, reviews client.Client, source Source, log logr.Logger) (*Server, error) {
	certificate, ca, err := selfSigned(host)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", host, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for pods that are restored: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	return &Server{
		URL: "https://" + net.JoinHostPort(host, port), CA: ca, source: source, reviews: reviews, log: log,
		listener: tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS13}),
	}, nil
}

// ID changes with where the server is and whom it is known by.
func (s *Server) ID() string {
	sum := sha256.Sum256([]byte(s.URL + s.CA))
	return hex.EncodeToString(sum[:8])
}

// Path is the URL of an EtcdRestore's backup.
func (s *Server) Path(namespace, restore string) string {
	return s.URL + "/snapshot/" + namespace + "/" + restore
}

// Start implements manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /snapshot/{namespace}/{restore}", s.serve)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = server.Close() // whoever reads reads again from the next
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	namespace, restore := r.PathValue("namespace"), r.PathValue("restore")
	pod, err := s.pod(r.Context(), r.Header.Get("Authorization"), namespace)
	if err != nil {
		s.log.Info("refused to hand a backup over", "namespace", namespace, "restore", restore, "reason", err.Error())
		http.Error(w, "the token is not that of the pod that is restored", http.StatusForbidden)
		return
	}
	body, size, err := s.source.Backup(r.Context(), namespace, restore, pod)
	if err != nil {
		s.log.Info("cannot hand a backup over", "namespace", namespace, "restore", restore, "pod", pod, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer body.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(w, body); err != nil {
		s.log.Info("broke off handing a backup over", "namespace", namespace, "restore", restore, "pod", pod, "reason", err.Error())
		panic(http.ErrAbortHandler) // so that it cannot be taken for whole
	}
}

// pod is the name of the pod that the token is bound to, of that namespace.
func (s *Server) pod(ctx context.Context, authorization, namespace string) (string, error) {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return "", errors.New("no token was sent")
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	if err := s.reviews.Create(ctx, review); err != nil {
		return "", fmt.Errorf("reviewing the token: %w", err)
	}
	user := review.Status.User
	switch pods := user.Extra[extraPod]; {
	case !review.Status.Authenticated:
		return "", errors.New("the API server does not know the token")
	case !strings.HasPrefix(user.Username, "system:serviceaccount:"+namespace+":"):
		return "", fmt.Errorf("the token is of %s", user.Username)
	case len(pods) != 1:
		return "", errors.New("the token is not bound to a pod")
	default:
		return pods[0], nil
	}
}

// selfSigned makes a certificate for a host that is trusted by itself alone.
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
