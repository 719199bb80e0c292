// Package publicca holds the CAs of the public internet for programs in images
// that contain none.
package publicca

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Trust makes the process trust Mozilla's CAs, because the image contains
// none. They apply only where the system has none: certificates that
// SSL_CERT_FILE or SSL_CERT_DIR name, or a volume at /etc/ssl/certs, replace
// them. They take most of a megabyte, so a program calls it only if it connects
// to somebody whose CA nobody configured.
func Trust() { trust() }

var trust = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		ca, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err) // the bundle is part of the program
		}
		if root.Constraint == nil {
			pool.AddCert(ca)
		} else {
			pool.AddCertWithConstraint(ca, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
