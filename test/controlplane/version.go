package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// ServerVersion asks the API server for its version.
func (c *ControlPlane) ServerVersion() (*utilversion.Version, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	info, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version: %w", err)
	}
	return utilversion.ParseGeneric(info.GitVersion)
}

// Before reports whether the API server is older than a minor version of
// Kubernetes 1.
func (c *ControlPlane) Before(minor uint) (bool, error) {
	v, err := c.ServerVersion()
	return err == nil && v.LessThan(utilversion.MajorMinor(1, minor)), err
}

// A reported version replaces the one in the API server's response to /version.
type reported struct {
	version string
	next    http.RoundTripper
}

func (r reported) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.next.RoundTrip(req)
	if err != nil || req.URL.Path != "/version" || res.StatusCode != http.StatusOK {
		return res, err
	}
	defer res.Body.Close()
	var info version.Info
	if err := json.NewDecoder(res.Body).Decode(&info); err != nil {
		return nil, fmt.Errorf("reading the API server's version: %w", err)
	}
	info.GitVersion = r.version
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res, nil
}
