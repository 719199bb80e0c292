//go:build e2e

package etcd_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// A partition is who a member does not hear, or does not reach.
type partition struct {
	name string
	// in and out are what nftables drops of the packets to and from the pod.
	in, out func(s *scene) []string
}

var (
	always  = func(rules ...string) func(*scene) []string { return func(*scene) []string { return rules } }
	nothing = always()
	peers   = always("tcp dport 2380", "tcp sport 2380")
)

var partitions = []partition{
	{"is cut off from the others", peers, peers},
	{"does not hear the others", peers, nothing},
	{"is not heard by the others", nothing, peers},
	{"is cut off from everybody", always(`iifname != "lo"`), always(`oifname != "lo"`)},
	{"is cut off from the controller", (*scene).fromController, nothing},
}

// fromController is what the controller's pods send.
func (s *scene) fromController() (rules []string) {
	for _, p := range s.controllers() {
		if p.Status.PodIP != "" {
			rules = append(rules, "ip saddr "+p.Status.PodIP)
		}
	}
	return rules
}

// inject has the kernel drop packets in the network of the member's pod.
func (p partition) inject(s *scene, name string) broken {
	s.Helper()
	// The network outlives the process, and the file keeps it.
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
	if out, err := nft(p.script(s), "-f", "-"); err != nil {
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

// dropped is a counter that counted.
var dropped = regexp.MustCompile(`packets [1-9]`)

func (p partition) script(s *scene) string {
	var b strings.Builder
	b.WriteString("table inet cut {\n")
	for hook, rules := range map[string][]string{"input": p.in(s), "output": p.out(s)} {
		fmt.Fprintf(&b, "chain %s { type filter hook %s priority 0;\n", hook, hook)
		for _, r := range rules {
			fmt.Fprintf(&b, "%s counter drop\n", r)
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}
