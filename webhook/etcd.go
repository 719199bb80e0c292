package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/etcd"
)

// absentSecrets warns of Secrets that a change to an EtcdCluster names and the
// namespace lacks: its members would wait for them. What usher may not read is
// not guessed at.
func absentSecrets(ctx context.Context, reader client.Reader, namespace string, was, is []byte) []string {
	known := secretsOf(was)
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	var warnings []string
	for _, ref := range secretsOf(is) {
		named := slices.ContainsFunc(known, func(k etcd.SecretReference) bool { return k.Name == ref.Name })
		if !named && Absent(ctx, reader, namespace, injector.Reference{Kind: "Secret", Name: ref.Name}) {
			warnings = append(warnings, fmt.Sprintf("etcd-tls-secret: %s: is %s, and there is no such Secret; members wait for it: add one with %s",
				strings.Join(ref.Path, "."), ref.Name, strings.Join(ref.Keys, ", ")))
		}
	}
	return warnings
}

// secretsOf are those that an EtcdCluster names; of one that does not decode,
// which is a finding already, none.
func secretsOf(object []byte) []etcd.SecretReference {
	var cluster etcdv1beta2.EtcdCluster
	if len(object) == 0 || json.Unmarshal(object, &cluster) != nil {
		return nil
	}
	return etcd.Secrets(&cluster.Spec)
}
