package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/usher-dev/usher/suggest"
)

// Report writes an error, and what to do about it if a cluster caused it.
func Report(w io.Writer, err error) {
	fmt.Fprintf(w, "Error: %v\n", err)
	if advice := advice(err); advice != "" {
		fmt.Fprintln(w, advice)
	}
}

// advice says what to do about an error of a cluster; "" for other errors.
func advice(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var request *url.Error
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case apierrors.IsForbidden(err):
		return "Ask an administrator of the cluster for this right, or select another user with --context or --as."
	case apierrors.IsUnauthorized(err):
		return "The API server does not accept the credentials: log in again, or select another user with --context."
	case errors.As(err, &authority), errors.As(err, &host):
		return "Compare the server and certificate-authority-data of the context in the kubeconfig with those of the cluster."
	case errors.As(err, &request), errors.As(err, &network) && !isErrno(network):
		return "Check with `kubectl cluster-info` that the API server answers, or select another cluster with --context or --kubeconfig."
	}
	return ""
}

// isErrno reports whether an error is a number of the operating system, which is
// a net.Error even if it is about a file.
func isErrno(err error) bool {
	var number syscall.Errno
	var operation *net.OpError
	return errors.As(err, &number) && !errors.As(err, &operation)
}

// explain says what to do if the kubeconfig selects no cluster.
func (c *Connection) explain(err error) error {
	names, given := c.contextNames(), c.overrides.CurrentContext
	switch {
	case given != "" && len(names) > 0 && !slices.Contains(names, given):
		return fmt.Errorf("context %q does not exist: %s", given, suggest.Instead(given, names))
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no kubeconfig was found: pass --kubeconfig FILE, or set KUBECONFIG")
	}
	return err
}

// contextNames lists the contexts of the kubeconfig.
func (c *Connection) contextNames() []string {
	config, err := c.loader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}
