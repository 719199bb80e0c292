// Command injector serves Istio's injection webhook with a template of one
// container, the seed's Envoy, on ADDRESS under /mutate, to compare its cost with
// usher's:
//
//	injector ADDRESS FOLDER
//
// It is a separate module, because it requires Istio. FOLDER is for files that it
// writes.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/log"
)

const configuration = `
policy: enabled
defaultTemplates: [envoy]
templates:
  envoy: |
    spec:
      containers:
      - name: envoy
        image: "lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1"
        command: ["/usr/local/bin/envoy"]
        args: ["--concurrency 4", "--config-path /etc/envoy/envoy.json", "--mode serve"]
        ports: [{containerPort: 80, protocol: TCP}]
        resources: {limits: {cpu: "1000m", memory: "512Mi"}, requests: {cpu: "100m", memory: "64Mi"}}
        volumeMounts: [{name: envoy-conf, mountPath: /etc/envoy}]
      volumes:
      - name: envoy-conf
        configMap: {name: envoy}
`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: injector ADDRESS FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "injector:", err)
		os.Exit(1)
	}
}

func serve(address, folder string) error {
	// It logs several lines for each pod, which would count as its cost.
	options := log.DefaultOptions()
	options.SetDefaultOutputLevel(log.OverrideScopeName, log.ErrorLevel)
	if err := log.Configure(options); err != nil {
		return err
	}
	config, values := filepath.Join(folder, "istio.yaml"), filepath.Join(folder, "values.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(values, []byte("{}"), 0o600); err != nil {
		return err
	}
	watcher, err := inject.NewFileWatcher(config, values)
	if err != nil {
		return err
	}
	settings := mesh.DefaultMeshConfig()
	environment := &model.Environment{Watcher: meshwatcher.NewTestWatcher(settings)}
	environment.SetPushContext(&model.PushContext{ProxyConfigs: &model.ProxyConfigs{}})
	mux := http.NewServeMux()
	webhook, err := inject.NewWebhook(inject.WebhookParameters{Watcher: watcher, Env: environment, Mux: mux, MultiCluster: multicluster.NewFakeController()})
	if err != nil {
		return err
	}
	go webhook.Run(make(chan struct{}))
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	server := &http.Server{
		Addr: address, Protocols: protocols, ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = "/inject"
			mux.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	}
	return server.ListenAndServeTLS("", "")
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
