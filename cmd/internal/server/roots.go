package server

// The image contains no CA certificates, so the servers bring Mozilla's. They
// apply only where the system has none: certificates that SSL_CERT_FILE or
// SSL_CERT_DIR name, or a volume at /etc/ssl/certs, replace them.
import _ "golang.org/x/crypto/x509roots/fallback"
