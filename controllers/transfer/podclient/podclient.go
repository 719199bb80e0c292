// Package podclient is what usher's containers in users' pods do: they fetch a
// backup from usher's controller and restore it, or serve a volume with backups
// to the controller. It links no client of the API server.
package podclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
)

// EnvCA is the variable with the CA of usher's controller, in PEM.
const EnvCA = "USHER_SNAPSHOT_CA"

// trusting is the configuration of connections to usher's controller.
func trusting(ca string) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("the CA of usher's controller contains no certificate")
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, nil
}

// bearer is the Authorization header with the token in a file.
func bearer(file string) (string, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return "Bearer " + strings.TrimSpace(string(token)), nil
}
