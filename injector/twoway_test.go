package injector

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/injector/podjson"
)

func TestTwoWayMergePatch(t *testing.T) {
	r := Request{Object: seedPod(t), Templates: set(seedTemplate(t))}
	leaves := apply(t, r, Decide(r))
	patch, err := podjson.TwoWayMergePatch("Pod", r.Object, leaves)
	if err != nil {
		t.Fatal(err)
	}
	want := `metadata:
  annotations:
    usher.dev/injected: '{"envoy":{"version":"` + seedTemplate(t).Version + `","options":"default","containers":["envoy"],"volumes":["envoy-conf"]}}'
spec:
  $setElementOrder/containers:
  - name: myapp-container
  - name: envoy
  containers:
  - args:
    - --concurrency 4
    - --config-path /etc/envoy/envoy.json
    - --mode serve
    command:
    - /usr/local/bin/envoy
    image: lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1
    name: envoy
    ports:
    - containerPort: 80
      protocol: TCP
    resources:
      limits:
        cpu: 1000m
        memory: 512Mi
      requests:
        cpu: 100m
        memory: 64Mi
    volumeMounts:
    - mountPath: /etc/envoy
      name: envoy-conf
  volumes:
  - configMap:
      name: envoy
    name: envoy-conf
`
	if diff := cmp.Diff(want, toYAML(t, patch)); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestTwoWayMergePatchSaysWhatItCannotExpress(t *testing.T) {
	r := Request{
		Object:    fromYAML(t, asking(asks, "hostAliases: [{ip: 10.0.0.1, hostnames: [a]}], containers: [{name: app}]")),
		Templates: set(mustParse(t, "side", small+"\nhostAliases: [{ip: 10.0.0.1, hostnames: [b]}]", "")),
	}
	d := Decide(r)
	_, err := podjson.TwoWayMergePatch("Pod", r.Object, apply(t, r, d))
	if !errors.Is(err, podjson.ErrInexpressible) {
		t.Errorf("got %v, want ErrInexpressible", err)
	}
	if !d.JSONOnly {
		t.Error("the decision did not say so")
	}
}
