// Package cmd_test checks what usher's programs link.
package cmd_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Groups of packages that not every program needs.
var (
	commandLine = []string{
		"github.com/usher-dev/usher/cli", "k8s.io/kubernetes",
		"k8s.io/kubectl", "helm.sh/helm", "sigs.k8s.io/kustomize",
	}
	objectStores = []string{"github.com/aws", "github.com/usher-dev/usher/controllers/etcd/backup"}
	// ownIdentity takes an identity from files, the machine or a token service: a
	// program without it cannot use its own identity for a tenant's object.
	ownIdentity = []string{
		"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/feature/ec2", "github.com/aws/aws-sdk-go-v2/service/sts", "github.com/aws/aws-sdk-go-v2/service/sso",
		"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds", "github.com/aws/aws-sdk-go-v2/credentials/endpointcreds", "github.com/aws/aws-sdk-go-v2/credentials/processcreds",
		"github.com/aws/aws-sdk-go-v2/credentials/stscreds", "github.com/aws/aws-sdk-go-v2/credentials/ssocreds",
		"github.com/usher-dev/usher/controllers/etcd/backup/store/podstore",
	}
	openStack   = []string{"github.com/gophercloud"}
	nftables    = []string{"github.com/google/nftables", "github.com/mdlayher/netlink", "github.com/usher-dev/usher/redirect"}
	etcdClient  = []string{"go.etcd.io/etcd/client", "go.etcd.io/etcd/api"}
	clusterPart = []string{"k8s.io", "sigs.k8s.io", "github.com/spf13/cobra", "github.com/usher-dev/usher/config", "google.golang.org"}
)

// TestProgramsLinkOnlyWhatTheyNeed keeps programs small: those of the images are
// loaded on every node, those for pods once for each pod.
func TestProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	for program, tc := range map[string]struct {
		needs string
		most  int // packages, or 0
		not   [][]string
	}{
		"usher-webhook":    {"github.com/usher-dev/usher/webhook", 0, [][]string{commandLine, objectStores, openStack, nftables, etcdClient}},
		"usher-controller": {"github.com/usher-dev/usher/controllers", 0, [][]string{commandLine, nftables, ownIdentity}},
		"usher-redirect":   {"github.com/usher-dev/usher/redirect", 110, [][]string{commandLine, objectStores, openStack, etcdClient, clusterPart, {"net/http", "encoding/json"}}},
		"usher-pod": {
			"github.com/usher-dev/usher/controllers/transfer/podclient", 210,
			[][]string{commandLine, {"github.com/aws"}, openStack, nftables, etcdClient, clusterPart},
		},
		// The identity of its pod, and of nobody else: no files, no programs, no machine.
		"usher-bucket": {
			"github.com/usher-dev/usher/controllers/etcd/backup/store/podstore", 300,
			[][]string{commandLine, openStack, nftables, etcdClient, clusterPart, {
				"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/feature/ec2", "github.com/aws/aws-sdk-go-v2/service/sso",
				"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds", "github.com/aws/aws-sdk-go-v2/credentials/processcreds", "github.com/aws/aws-sdk-go-v2/credentials/ssocreds",
			}},
		},
		"usher-entrypoint": {"github.com/usher-dev/usher/cmd/internal/buildinfo", 80, [][]string{commandLine, clusterPart, {"net"}}},
	} {
		t.Run(program, func(t *testing.T) {
			linked := deps(t, program)
			if !linked[tc.needs] {
				t.Fatalf("it does not link %s: the list is not of the program", tc.needs)
			}
			if tc.most > 0 && len(linked) > tc.most {
				t.Errorf("it links %d packages, want %d at most", len(linked), tc.most)
			}
			for _, group := range tc.not {
				for _, not := range group {
					for pkg := range linked {
						if pkg == not || strings.HasPrefix(pkg, not+"/") {
							t.Errorf("it links %s", pkg)
						}
					}
				}
			}
		})
	}
}

// deps returns the packages that a program links on Linux.
func deps(t *testing.T, program string) map[string]bool {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "./"+program)
	cmd.Stderr, cmd.Env = t.Output(), append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for pkg := range strings.FieldsSeq(string(out)) {
		linked[pkg] = true
	}
	return linked
}
