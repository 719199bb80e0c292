package main

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestNeedsPublicCAs(t *testing.T) {
	const receiver = "https://otel.example.com"
	tests := map[string]struct {
		tls      rest.TLSClientConfig
		receiver string
		want     bool
	}{
		"in a cluster":                   {rest.TLSClientConfig{CAFile: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"}, "", false},
		"a kubeconfig with a CA":         {rest.TLSClientConfig{CAData: []byte("x")}, "", false},
		"no CA":                          {rest.TLSClientConfig{}, "", true},
		"nothing is verified":            {rest.TLSClientConfig{Insecure: true}, "", false},
		"in a cluster, traces elsewhere": {rest.TLSClientConfig{CAFile: "ca.crt"}, receiver, true},
	}
	for name, tc := range tests {
		if got := needsPublicCAs(&rest.Config{TLSClientConfig: tc.tls}, tc.receiver); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
