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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// An apiServer creates objects without keeping them.
type apiServer struct {
	client *http.Client
	host   string

	kinds map[schema.GroupVersionKind]mapping

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
	kinds, err := allMappings(config)
	if err != nil {
		return nil, err
	}
	return &apiServer{kinds: kinds, client: client, host: strings.TrimSuffix(config.Host, "/"), namespaces: map[string]bool{"default": true}}, nil
}

// An answer is what the API server says about an object.
type answer struct {
	accepted bool
	stored   []byte // the accepted object
	// cause is the first reason with its field, without list indexes and map keys,
	// so that equal causes are counted together.
	cause   string
	message string
}

// create creates the object with a dry run and strict field validation.
func (s *apiServer) create(ctx context.Context, apiVersion, kind, namespace string, raw []byte) (answer, error) {
	m, ok := s.kinds[schema.FromAPIVersionAndKind(apiVersion, kind)]
	if !ok {
		return answer{cause: "NotFound", message: "the server serves no such kind"}, nil
	}
	path := "/apis/" + apiVersion
	if apiVersion == "v1" {
		path = "/api/v1"
	}
	if m.namespaced {
		if namespace == "" {
			namespace = "default"
		}
		if err := s.ensureNamespace(ctx, namespace); err != nil {
			return answer{}, err
		}
		path += "/namespaces/" + namespace
	}
	return s.post(ctx, path+"/"+m.resource+"?dryRun=All&fieldValidation=Strict", raw)
}

func (s *apiServer) ensureNamespace(ctx context.Context, name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.namespaces[name] {
		return nil
	}
	v, err := s.post(ctx, "/api/v1/namespaces", fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name))
	if err == nil && !v.accepted && v.cause != "AlreadyExists" {
		err = fmt.Errorf("creating namespace %q: %s", name, v.message)
	}
	s.namespaces[name] = err == nil
	return err
}

func (s *apiServer) post(ctx context.Context, path string, raw []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.host+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	// Kubernetes 1.36 panics on an Indexed Job with a success policy and no
	// completions, and resets the stream, without creating anything.
	var reset http2.StreamError
	if errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal {
		return answer{cause: "InternalError", message: err.Error()}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	if response.StatusCode < 300 {
		return answer{accepted: true, stored: body}, nil
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return answer{}, fmt.Errorf("the server answers %s: %s", response.Status, body)
	}
	return answer{cause: causeOf(&status), message: status.Message}, nil
}

var indexes = regexp.MustCompile(`\[[^\]]*\]`)

func causeOf(status *metav1.Status) string {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return string(status.Reason)
	}
	c := status.Details.Causes[0]
	return string(c.Type) + " " + indexes.ReplaceAllString(c.Field, "")
}
