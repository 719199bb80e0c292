package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/usher-dev/usher/suggest"
	"github.com/usher-dev/usher/yaml/syntax"
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

// Unreachable reports whether an error means that the API server did not answer, or
// does not accept the user.
func Unreachable(err error) bool {
	var request *url.Error
	return errors.As(err, &request) || apierrors.IsUnauthorized(err)
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
	access := c.loader().ConfigAccess()
	for _, file := range access.GetLoadingPrecedence() {
		if _, err := clientcmd.LoadFromFile(file); err != nil && (!errors.Is(err, fs.ErrNotExist) || access.IsExplicitFile()) {
			return unreadable(file, err)
		}
	}
	raw, _ := c.loader().RawConfig() // every file was read
	names := slices.Sorted(maps.Keys(raw.Contexts))
	selected := cmp.Or(c.overrides.CurrentContext, raw.CurrentContext)
	switch used := raw.Contexts[selected]; {
	case len(names) == 0:
		return errors.New("no kubeconfig was found: pass --kubeconfig FILE, or set KUBECONFIG")
	case selected == "":
		return fmt.Errorf("the kubeconfig has no current context; pass --context; available: %s", strings.Join(names, ", "))
	case used == nil:
		return fmt.Errorf("context %q does not exist; %s", selected, cmp.Or(suggest.Question("", selected, names), "available: "+strings.Join(names, ", ")))
	case raw.Clusters[used.Cluster] == nil:
		return fmt.Errorf("context %q names the cluster %q, which the kubeconfig does not have: add it with kubectl config set-cluster, or pass another --context",
			selected, used.Cluster)
	}
	return fmt.Errorf("reading the kubeconfig: %w", err)
}

// unreadable says why a kubeconfig cannot be read.
func unreadable(file string, err error) error {
	var path *fs.PathError
	switch line, text := syntax.Explain(err); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("kubeconfig %s does not exist", file)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("kubeconfig %s is a folder; write the path of a file", file)
	case errors.As(err, &path):
		return fmt.Errorf("kubeconfig %s: %w", file, path.Err)
	case line > 0:
		return fmt.Errorf("kubeconfig %s:%d: %s", file, line, text)
	}
	return fmt.Errorf("%s is not a kubeconfig: write apiVersion: v1 and kind: Config", file)
}

// contextNames lists the contexts of the kubeconfig.
func (c *Connection) contextNames() []string {
	config, err := c.loader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}
