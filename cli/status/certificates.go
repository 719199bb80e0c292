package status

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const certificatesSection = "certificates"

// Less than this is left of a certificate when it deserves a warning: a fifth of its
// lifetime, or a week.
const (
	shortShare = 5
	shortTime  = 7 * 24 * time.Hour
)

// proxyTimeout limits how long the check waits for a replica.
const proxyTimeout = 5 * time.Second

// certificates checks the CAs that the API server trusts, and the certificate that
// a replica serves.
func (c *Cluster) certificates(ctx context.Context) []Check {
	const remedy = "how usher renews certificates, and what to do if it does not: https://github.com/usher-dev/usher/blob/main/docs/operations.md#certificates"
	var checks []Check
	if c.configurations == nil {
		checks = append(checks, Check{certificatesSection, "CA", Unknown, "the webhook configurations, which contain it, could not be read", ""})
	} else if called := c.configurations.clients(); len(called) > 0 {
		var bundles [][]byte
		for _, w := range called {
			bundles = append(bundles, w.CABundle)
		}
		check := authorities(bundles, c.Now)
		if check.State != OK {
			check.Remedy = c.logs("webhook") + "\n" + remedy
		}
		checks = append(checks, check)
	}
	serving := c.serving(ctx)
	if serving.State == Failed || serving.State == Warning {
		serving.Remedy = c.logs("webhook") + "\n" + remedy
	}
	return append(checks, serving)
}

// authorities checks the CA bundles of webhooks. A bundle has several CAs while one
// replaces another, so the one that is valid for the longest time counts; of the
// bundles, the one that ends first.
func authorities(bundles [][]byte, now time.Time) Check {
	check := Check{Section: certificatesSection, Name: "CA", State: OK, Message: "the API server's own CAs count"}
	var first *x509.Certificate
	for _, bundle := range bundles {
		if len(bundle) == 0 {
			continue
		}
		var longest *x509.Certificate
		for rest := bundle; ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if ca, err := x509.ParseCertificate(block.Bytes); err == nil && (longest == nil || ca.NotAfter.After(longest.NotAfter)) {
				longest = ca
			}
		}
		if longest == nil {
			check.State, check.Message = Failed, "a caBundle of the webhook configurations contains no certificate"
			return check
		}
		if first == nil || longest.NotAfter.Before(first.NotAfter) {
			first = longest
		}
	}
	if first != nil {
		check.State, check.Message = left(first.NotAfter.Sub(now), first.NotAfter.Sub(first.NotBefore))
		if now.Before(first.NotBefore) {
			check.State, check.Message = Failed, "it is valid only from "+first.NotBefore.UTC().Format(time.RFC3339)
		}
	}
	return check
}

// left says how long a certificate is valid. A lifetime of zero is unknown.
func left(remaining, lifetime time.Duration) (State, string) {
	switch {
	case remaining <= 0:
		return Failed, fmt.Sprintf("it expired %s ago, so the API server does not trust usher", ago(-remaining))
	case lifetime > 0 && remaining < lifetime/shortShare, lifetime == 0 && remaining < shortTime:
		return Warning, ago(remaining) + " left, and usher did not renew it yet"
	}
	return OK, ago(remaining) + " left"
}

// serving reads from the metrics of a replica how long its certificate is valid. The
// API server's proxy reaches it only if the network lets the API server.
func (c *Cluster) serving(ctx context.Context) Check {
	check := Check{Section: certificatesSection, Name: "serving certificate", State: Unknown}
	pods, doing, err := c.pods(ctx, "webhook")
	if err != nil {
		return unread(certificatesSection, check.Name, doing, err)
	}
	check.Message = "no running replica exposes its metrics"
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	for i := range pods {
		port := metricsPort(&pods[i])
		if port == 0 || pods[i].Status.Phase != corev1.PodRunning {
			continue
		}
		text, err := c.Clients.CoreV1().Pods(c.Own).ProxyGet("http", pods[i].Name, strconv.Itoa(int(port)), "/metrics", nil).DoRaw(ctx)
		if apierrors.IsForbidden(err) {
			return unread(certificatesSection, check.Name, "get pods/proxy in namespace "+c.Own, err)
		}
		if err != nil {
			check.Message = fmt.Sprintf("the metrics of %s are not readable through the API server: %v", pods[i].Name, err)
			continue
		}
		remaining, ok := expiry(text)
		if !ok {
			check.Message = fmt.Sprintf("the metrics of %s do not say when it expires", pods[i].Name)
			continue
		}
		check.State, check.Message = left(remaining, 0)
		check.Message += ", of " + pods[i].Name
		return check
	}
	return check
}

// metricsPort is the port of a replica's metrics; 0 without one.
func metricsPort(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == "metrics" {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// expiry reads from metrics how long the serving certificate is valid.
func expiry(metrics []byte) (time.Duration, bool) {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	for lines.Scan() {
		value, found := strings.CutPrefix(lines.Text(), `usher_certificate_expiry_seconds{what="serving"} `)
		if seconds, err := strconv.ParseFloat(value, 64); found && err == nil {
			return time.Duration(seconds * float64(time.Second)), true
		}
	}
	return 0, false
}
