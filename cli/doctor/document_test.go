package doctor

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var record = flag.Bool("record", false, "write the report into docs/etcd-doctor.md")

// TestDocument_ShowsAReport compares the report in docs/etcd-doctor.md with that of a
// cluster with a few troubles.
//
//	go test ./cli/doctor -run Document -record
func TestDocument_ShowsAReport(t *testing.T) {
	o := healthy(3)
	o.Given = []string{"https://etcd-0:2379"}
	o.Flags = " --cacert=ca.crt"
	for i, name := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		url := "https://" + name + ":2379"
		o.Members[i].Name, o.Members[i].ClientURLs, o.Members[i].ID = name, []string{url}, o.Members[i].ID+0x8e9e05c52164694c
		e := &o.Endpoints[i]
		e.URL, e.Chain = url, []Certificate{certificate(60 * 24 * time.Hour)}
		for _, s := range []*Status{e.Status, e.Later} {
			s.Member, s.Leader = o.Members[i].ID, o.Members[0].ID
		}
	}
	silence(o, 2, Silent)
	o.Endpoints[2].Trouble.Words, o.Endpoints[2].Chain = "no connection: connection refused", nil
	o.Endpoints[0].Later.Size, o.Endpoints[0].Later.InUse = 1900<<20, 700<<20
	o.Endpoints[1].Later.Size, o.Endpoints[1].Later.InUse = 800<<20, 700<<20
	o.Endpoints[1].Chain[0] = certificate(6 * 24 * time.Hour)
	o.Files = []File{{CAFile, "ca.crt", []Certificate{certificate(90 * 24 * time.Hour)}}}
	var report bytes.Buffer
	if err := NewReport(o).Text(&report, false); err != nil {
		t.Fatal(err)
	}

	const document = "../../docs/etcd-doctor.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "```console\n$ usher etcd doctor --endpoints=https://etcd-0:2379 --cacert=ca.crt --cluster\n", "```\n"
	before, rest, found := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no block that begins with %q", document, begin)
	}
	if *record {
		if err := os.WriteFile(document, []byte(before+begin+report.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(report.String(), shown); diff != "" {
		t.Errorf("the report, and the one in %s (-prints +shown):\n%s", document, diff)
	}
}
