package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// An apiServer creates objects without keeping them.
type apiServer struct {
	client *http.Client
	host   string

	mutex      sync.Mutex
	namespaces map[string]bool
}

func newAPIServer(config *rest.Config) (*apiServer, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &apiServer{client: client, host: strings.TrimSuffix(config.Host, "/"), namespaces: map[string]bool{"default": true}}, nil
}

// A verdict is what the API server says about an object.
type verdict struct {
	accepted bool
	// cause is the first reason with the field it names, list indexes and map
	// keys left out, so that equal causes count together.
	cause   string
	message string
}

// dryRunResources are the resources of the kinds that rules judge.
var dryRunResources = map[string]string{
	"v1/Pod": "pods", "v1/PodTemplate": "podtemplates", "v1/ReplicationController": "replicationcontrollers",
	"v1/Service": "services", "v1/PersistentVolumeClaim": "persistentvolumeclaims",
	"apps/v1/Deployment": "deployments", "apps/v1/ReplicaSet": "replicasets", "apps/v1/StatefulSet": "statefulsets", "apps/v1/DaemonSet": "daemonsets",
	"batch/v1/Job": "jobs", "batch/v1/CronJob": "cronjobs",
	"autoscaling/v1/HorizontalPodAutoscaler": "horizontalpodautoscalers", "autoscaling/v2/HorizontalPodAutoscaler": "horizontalpodautoscalers",
	"v1/Secret": "secrets", "etcd.database.coreos.com/v1beta2/EtcdCluster": "etcdclusters",
	"etcd.database.coreos.com/v1beta2/EtcdBackup": "etcdbackups", "etcd.database.coreos.com/v1beta2/EtcdRestore": "etcdrestores",
	"rbac.authorization.k8s.io/v1/RoleBinding": "rolebindings", "rbac.authorization.k8s.io/v1/ClusterRoleBinding": "clusterrolebindings",
	"samplecrd.k8s.io/v1/Network": "networks",
}

// create asks the server to create an object by dry-run, as leniently about
// unknown fields as it is by default.
func (s *apiServer) create(ctx context.Context, apiVersion, kind, namespace string, raw []byte) (verdict, error) {
	if namespace == "" {
		namespace = "default"
	}
	if err := s.ensureNamespace(ctx, namespace); err != nil {
		return verdict{}, err
	}
	path := "/apis/" + apiVersion
	if apiVersion == "v1" {
		path = "/api/v1"
	}
	if kind != "ClusterRoleBinding" {
		path += "/namespaces/" + namespace
	}
	return s.post(ctx, path+"/"+dryRunResources[apiVersion+"/"+kind]+"?dryRun=All&fieldValidation=Ignore", raw)
}

func (s *apiServer) ensureNamespace(ctx context.Context, name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.namespaces[name] {
		return nil
	}
	v, err := s.post(ctx, "/api/v1/namespaces", fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name))
	if err == nil && !v.accepted {
		err = fmt.Errorf("creating namespace %q: %s", name, v.message)
	}
	s.namespaces[name] = err == nil
	return err
}

func (s *apiServer) post(ctx context.Context, path string, raw []byte) (verdict, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.host+path, bytes.NewReader(raw))
	if err != nil {
		return verdict{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	// Kubernetes 1.36 panics over an Indexed Job with a success policy and no
	// completions, and resets the stream: nothing is created.
	var reset http2.StreamError
	if errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal {
		return verdict{cause: "InternalError", message: err.Error()}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return verdict{}, err
	}
	if response.StatusCode < 300 {
		return verdict{accepted: true}, nil
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return verdict{}, fmt.Errorf("the server answers %s: %s", response.Status, body)
	}
	return verdict{cause: causeOf(&status), message: status.Message}, nil
}

var indexes = regexp.MustCompile(`\[[^\]]*\]`)

func causeOf(status *metav1.Status) string {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return string(status.Reason)
	}
	c := status.Details.Causes[0]
	return string(c.Type) + " " + indexes.ReplaceAllString(c.Field, "")
}
