package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/etcd"
)

// absentSecrets warns of Secrets that an EtcdCluster names and the namespace
// lacks: its members would wait for them. What usher may not read is not guessed
// at.
func absentSecrets(ctx context.Context, reader client.Reader, namespace string, object []byte) []string {
	var cluster etcdv1beta2.EtcdCluster
	if err := json.Unmarshal(object, &cluster); err != nil {
		return nil // a finding already
	}
	var warnings []string
	for _, ref := range etcd.Secrets(&cluster.Spec) {
		if Absent(ctx, reader, namespace, injector.Reference{Kind: "Secret", Name: ref.Name}) {
			warnings = append(warnings, fmt.Sprintf("etcd-tls-secret: %s: is %s, and there is no such Secret; members wait for it: add one with %s",
				strings.Join(ref.Path, "."), ref.Name, strings.Join(ref.Keys, ", ")))
		}
	}
	return warnings
}
