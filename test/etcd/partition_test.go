//go:build e2e

package etcd_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// A partition is the peers that a member cannot hear or cannot reach.
type partition struct {
	name string
	// in and out are the packets to and from the pod that nftables drops.
	in, out []string
}

var (
	peers = []string{"tcp dport 2380", "tcp sport 2380"}
	// The machine itself, with the clients and the kubelet, has the first address.
	controller = []string{"ip saddr 10.244.0.2-10.244.0.254 tcp dport 2379"}
)

var partitions = []partition{
	{"is cut off from the others", peers, peers},
	{"does not hear the others", peers, nil},
	{"is not heard by the others", nil, peers},
	{"is cut off from everybody", []string{`iifname != "lo"`}, []string{`oifname != "lo"`}},
	{"is cut off from the controller", controller, nil},
}

// inject makes the kernel drop packets in the network of the member's pod.
func (p partition) inject(s *scene, name string) broken {
	s.Helper()
	// The network outlives the process, because the open file keeps it.
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", s.process(name)))
	s.must(err)
	s.Cleanup(func() { _ = network.Close() })
	nft := func(script string, args ...string) (string, error) {
		cmd := exec.Command("nsenter", append([]string{"--net=/proc/self/fd/3", "nft"}, args...)...)
		cmd.ExtraFiles = []*os.File{network}
		cmd.Stdin = strings.NewReader(script)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := nft(p.script(), "-f", "-"); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	return broken{
		felt: func() bool {
			rules, err := nft("", "list", "table", "inet", "cut")
			return err == nil && dropped.MatchString(rules)
		},
		heal: func() {
			if out, err := nft("", "delete", "table", "inet", "cut"); err != nil {
				s.Fatalf("%v\n%s", err, out)
			}
		},
	}
}

// dropped matches a counter that has counted.
var dropped = regexp.MustCompile(`packets [1-9]`)

func (p partition) script() string {
	var b strings.Builder
	b.WriteString("table inet cut {\n")
	for hook, rules := range map[string][]string{"input": p.in, "output": p.out} {
		fmt.Fprintf(&b, "chain %s { type filter hook %s priority 0;\n", hook, hook)
		for _, r := range rules {
			fmt.Fprintf(&b, "%s counter drop\n", r)
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}
