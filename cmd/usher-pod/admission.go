package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// serviceAccount is the folder with the pod's credentials for the API server.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// unknownTemplate is a pod that usher refuses, because it asks for a template
// that does not exist. It meets every Pod Security Standard, so that nothing else
// refuses it.
const unknownTemplate = `{"apiVersion": "v1", "kind": "Pod",
"metadata": {"generateName": "usher-test-", "annotations": {"inject.usher.dev/usher-test-no-such-template": "true"}},
"spec": {"restartPolicy": "Never", "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
"containers": [{"name": "app", "image": "app", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "1m", "memory": "1Mi"}},
"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}`

// An admission is the command of helm test: it asks the API server for a dry run
// until usher refuses it.
type admission struct {
	server, credentials, namespace string
	within                         time.Duration
}

func testAdmission(flags *pflag.FlagSet) func(context.Context, []string, io.Writer) error {
	var a admission
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	flags.StringVar(&a.server, "server", "https://"+net.JoinHostPort(host, port), "URL of the API server")
	flags.StringVar(&a.credentials, "credentials", serviceAccount, "folder with token and ca.crt")
	flags.StringVar(&a.namespace, "namespace", "default", "namespace in which to create the dry run")
	flags.DurationVar(&a.within, "timeout", time.Minute, "how long to wait until usher refuses it")
	return func(ctx context.Context, args []string, errs io.Writer) error {
		if err := none(args); err != nil {
			return err
		}
		answer, err := a.run(ctx)
		if err != nil {
			return fmt.Errorf("usher does not decide about pods of the namespace %s: %w", a.namespace, err)
		}
		_, err = fmt.Fprintf(errs, "usher decides about pods of the namespace %s: %s\n", a.namespace, answer)
		return err
	}
}

// run returns usher's refusal.
func (a admission) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	client, err := a.client()
	if err != nil {
		return "", err
	}
	var last error // that was not the end of the time
	for {
		status, message, err := a.create(ctx, client)
		switch {
		case err == nil && status == http.StatusForbidden && strings.Contains(message, "usher-test-no-such-template"):
			return message, nil
		case err == nil:
			last = fmt.Errorf("the API server answers a pod that asks for an unknown template with status %d %s", status, message)
		case last == nil || ctx.Err() == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return "", last
		case <-time.After(time.Second):
		}
	}
}

func (a admission) client() (*http.Client, error) {
	ca, err := os.ReadFile(filepath.Join(a.credentials, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt contains no certificate in PEM")
	}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}, nil
}

// create asks for the dry run, and returns the status and message of the answer.
func (a admission) create(ctx context.Context, client *http.Client) (status int, message string, err error) {
	token, err := os.ReadFile(filepath.Join(a.credentials, "token"))
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server+"/api/v1/namespaces/"+a.namespace+"/pods?dryRun=All", bytes.NewReader([]byte(unknownTemplate)))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return 0, "", fmt.Errorf("reading the answer of the API server: %w", err)
	}
	var answer struct{ Message string }
	if json.Unmarshal(body, &answer) != nil {
		answer.Message = string(body[:min(len(body), 500)]) // a proxy's, for example
	}
	return res.StatusCode, answer.Message, nil
}
