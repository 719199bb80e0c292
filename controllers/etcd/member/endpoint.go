package member

import (
	"net/url"
	"strings"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// LeadsTo reports whether an endpoint is one of the cluster's Services or
// members.
func LeadsTo(endpoint string, c *etcdv1beta2.EtcdCluster) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	switch {
	case labels[0] == ClientService(c.Name), labels[0] == c.Name:
		labels = labels[1:]
	case len(labels) > 1 && labels[1] == c.Name && strings.HasPrefix(labels[0], c.Name+"-"):
		labels = labels[2:]
	default:
		return false
	}
	return len(labels) == 0 || labels[0] == c.Namespace && (len(labels) == 1 || labels[1] == "svc")
}
