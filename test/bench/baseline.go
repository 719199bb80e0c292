package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// baselineMain serves the baseline until it is killed: TLS, the whole body read, the
// uid echoed; under /patch with a constant patch. Its certificate is written to
// folder/baseline.crt, for the API server.
func baselineMain(address, folder string) error {
	certificate, authority, err := selfSigned()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "baseline.crt"), authority, 0o600); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo(""))
	mux.HandleFunc("/patch", echo(`,"patchType":"JSONPatch","patch":"`+base64.StdEncoding.EncodeToString([]byte(constantPatch))+`"`))
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	server := &http.Server{
		Addr: address, Handler: mux, Protocols: protocols, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}},
	}
	return server.ListenAndServeTLS("", "")
}

// constantPatch adds the seed's Envoy, a container and a volume, to pods with
// volumes.
const constantPatch = `[{"op":"add","path":"/spec/containers/-","value":{"name":"envoy","image":"lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1",` +
	`"command":["/usr/local/bin/envoy"],"args":["--concurrency 4","--config-path /etc/envoy/envoy.json","--mode serve"],"ports":[{"containerPort":80,"protocol":"TCP"}],` +
	`"resources":{"limits":{"cpu":"1000m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[{"name":"envoy-conf","mountPath":"/etc/envoy"}]}},{"op":"add","path":"/spec/volumes/-","value":{"name":"envoy-conf","configMap":{"name":"envoy"}}}]`

func echo(patch string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, rest, _ := bytes.Cut(body, []byte(`"uid":"`))
		uid, _, _ := bytes.Cut(rest, []byte(`"`))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true%s}}`, uid, patch)
	}
}

func selfSigned() (*tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
