package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// await waits until the API server serves or the context ends, and meanwhile
// reports to the kubelet that it is alive but not ready. Exiting instead would
// cause restarts with the kubelet's back-off, up to five minutes after an
// outage.
func await(ctx context.Context, config *rest.Config, healthAddress string, log logr.Logger) error {
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	if err := reach(client); err == nil {
		return nil
	}
	stop, err := alive(ctx, healthAddress)
	if err != nil {
		return err
	}
	defer stop()
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		err := reach(client)
		if err != nil {
			log.Info("waiting for the API server", "host", config.Host, "error", err.Error())
		}
		return err == nil, nil
	})
	return nil
}

// reach asks the API server for its API groups. One that has just started
// answers, but does not know any user's rights yet.
func reach(client discovery.ServerGroupsInterface) error {
	groups, err := client.ServerGroups()
	if err == nil && len(groups.Groups) == 0 {
		err = errors.New("its list of API groups cannot be read")
	}
	return err
}

// alive answers the kubelet's probes until it is stopped.
func alive(ctx context.Context, address string) (stop func(), err error) {
	if address == "0" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving the kubelet: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "waiting for the API server", http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
