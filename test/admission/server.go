// Package admission sends objects to a real kube-apiserver and returns the
// result of their admission: the object as it would be stored, or why it is
// refused, the warnings, and the webhooks' audit annotations.
package admission

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// An Object is a Kubernetes object as a client writes it.
type Object = map[string]any

// A Server is a real kube-apiserver, which keeps an audit log.
type Server struct {
	client *http.Client
	host   string

	// log is the audit log, annotations what was read from it, by the requests'
	// ids.
	log         string
	mutex       sync.Mutex
	read        int64
	annotations map[string]map[string]string
}

// auditPolicy logs the annotations of admission.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, verbs: [create, update], userGroups: ["system:masters"]}
  - {level: None}
`

// Flags returns the flags with which kube-apiserver keeps its audit log in a
// folder.
func Flags(dir string) (map[string]string, error) {
	policy := filepath.Join(dir, "policy.yaml")
	return map[string]string{"audit-policy-file": policy, "audit-log-path": filepath.Join(dir, "audit.log")},
		os.WriteFile(policy, []byte(auditPolicy), 0o600)
}

// New connects to a server that was started with the Flags for the folder.
func New(config *rest.Config, dir string) (*Server, error) {
	config = rest.CopyConfig(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Server{
		client: client, host: strings.TrimSuffix(config.Host, "/"),
		log: filepath.Join(dir, "audit.log"), annotations: map[string]map[string]string{},
	}, nil
}

// An Answer is a response of the API server.
type Answer struct {
	Status int
	// Object is the object as it would be stored, nil if it is refused.
	Object Object
	// Message and Causes are those of the refusal.
	Message string
	Causes  []Cause
	// Warnings are the warnings of all webhooks and the server.
	Warnings []string
	// Audit are the annotations of admission, without those of the configurations.
	Audit map[string]string
}

// A Cause is one field that causes a refusal.
type Cause struct {
	Reason  string `json:"reason"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// DeniedBy is the webhook that refused, or "".
func (a *Answer) DeniedBy() string {
	_, rest, ok := strings.Cut(a.Message, `admission webhook "`)
	if a.Object != nil || !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `" denied the request`)
	return name
}

// A Request is a request to the API server.
type Request struct {
	// ID is the request's ID in the audit log, with IDPrefix; "" if it is not
	// needed.
	ID     string
	Method string
	// Object is sent to Namespace, "" for cluster-scoped objects.
	Object    Object
	Namespace string
	// Status updates the object's status.
	Status bool
	DryRun bool
	// User is the user that the request impersonates; "" impersonates nobody.
	User string
}

// path returns the URL path of an object's resource.
func path(o Object, namespace string) string {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	p := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		p = "/api/" + apiVersion
	}
	if namespace != "" {
		p += "/namespaces/" + namespace
	}
	return p + "/" + strings.ToLower(kind) + "s"
}

// Send sends a request.
func (s *Server) Send(ctx context.Context, r Request) (*Answer, error) {
	url := s.host + path(r.Object, r.Namespace)
	if r.Method != http.MethodPost {
		url += "/" + name(r.Object)
	}
	if r.Status {
		url += "/status"
	}
	url += "?fieldManager=test"
	if r.DryRun {
		url += "&dryRun=All"
	}
	body, err := json.Marshal(r.Object)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if r.ID != "" {
		req.Header.Set("Audit-ID", r.ID)
	}
	if r.User != "" {
		req.Header.Set("Impersonate-User", r.User)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	a := &Answer{Status: res.StatusCode}
	for _, header := range res.Header.Values("Warning") {
		a.Warnings = append(a.Warnings, warningText(header))
	}
	if res.StatusCode < 300 {
		return a, json.Unmarshal(text, &a.Object)
	}
	var status struct {
		Message string `json:"message"`
		Details struct {
			Causes []Cause `json:"causes"`
		} `json:"details"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, fmt.Errorf("%s %s: %s: %s", r.Method, url, res.Status, text)
	}
	a.Message, a.Causes = status.Message, status.Details.Causes
	return a, nil
}

// Must sends a request that the server must accept.
func (s *Server) Must(ctx context.Context, r Request) (Object, error) {
	a, err := s.Send(ctx, r)
	if err == nil && a.Object == nil {
		err = fmt.Errorf("%s %s %s: %s", r.Method, path(r.Object, r.Namespace), name(r.Object), a.Message)
	}
	if err != nil {
		return nil, err
	}
	return a.Object, nil
}

// name returns an object's name.
func name(o Object) string {
	metadata, _ := o["metadata"].(Object)
	name, _ := metadata["name"].(string)
	return name
}

// warningText is the text of a Warning header: 299 - "text".
func warningText(header string) string {
	_, quoted, _ := strings.Cut(header, `"`)
	quoted = strings.TrimSuffix(quoted, `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted)
}

// Annotate sets the annotations of answers from the audit log, by their
// requests' ids.
func (s *Server) Annotate(ctx context.Context, answers map[string]*Answer) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		if err := s.follow(); err != nil {
			return false, err
		}
		for id, a := range answers {
			found, ok := s.annotations[id]
			if !ok {
				return false, nil
			}
			a.Audit = found
		}
		return true, nil
	})
}

// follow reads the new lines of the audit log.
func (s *Server) follow() error {
	f, err := os.Open(s.log)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(s.read, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // an incomplete line is read again
		}
		if err != nil {
			return err
		}
		s.read += int64(len(line))
		var event struct {
			AuditID     string            `json:"auditID"`
			Annotations map[string]string `json:"annotations"`
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		if strings.HasPrefix(event.AuditID, IDPrefix) {
			s.annotations[event.AuditID] = event.Annotations
		}
	}
}

// IDPrefix is the prefix of the ids of requests whose annotations are kept.
const IDPrefix = "scene-"
