package gather_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/cli/doctor"
	"github.com/usher-dev/usher/cli/doctor/gather"
	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/test/etcdserver"
	"github.com/usher-dev/usher/test/pki"
)

// A scene is a cluster, and a client of it.
type scene struct {
	*testing.T
	*etcdserver.Cluster
	client *clientv3.Client
	config gather.Config
	// meanwhile runs before each time the cluster is asked.
	meanwhile func()
}

func newScene(t *testing.T, size int, o etcdserver.Options) *scene {
	t.Helper()
	t.Parallel()
	c, err := etcdserver.StartWith(t.Context(), t.TempDir(), size, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &scene{
		T: t, Cluster: c, client: client,
		config:    gather.Config{Endpoints: c.Endpoints(), DialTimeout: 2 * time.Second, CommandTimeout: 5 * time.Second},
		meanwhile: func() {},
	}
}

// observe asks the cluster.
func (s *scene) observe() *doctor.Observation {
	s.Helper()
	o, err := gather.Observe(s.Context(), &s.config)
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// wants judges the cluster until the checks contain each line, which is a state, a
// section and a name, and after each bar a part of the message or remedy. Without lines
// everything must be ok.
func (s *scene) wants(lines ...string) {
	s.Helper()
	var missing []string
	var got string
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for {
		s.meanwhile()
		checks := doctor.Judge(s.observe())
		missing, got = nil, ""
		for _, c := range checks {
			got += s.line(c) + "\n"
			if len(lines) == 0 && c.State != status.OK {
				missing = append(missing, "not: "+s.line(c))
			}
		}
		for _, want := range lines {
			parts := strings.Split(want, " | ")
			found := slices.ContainsFunc(strings.Split(got, "\n"), func(l string) bool {
				return strings.HasPrefix(l, parts[0]+" | ") &&
					!slices.ContainsFunc(parts[1:], func(part string) bool { return !strings.Contains(l, part) })
			})
			if !found {
				missing = append(missing, want)
			}
		}
		if len(missing) == 0 {
			return
		}
		if ctx.Err() != nil {
			s.Fatalf("missing:\n%s\ngot:\n%s", strings.Join(missing, "\n"), got)
		}
	}
}

// line is a check in one line, with members' names for their URLs.
func (s *scene) line(c status.Check) string {
	text := fmt.Sprintf("%s %s %s | %s | %s", c.State, c.Section, c.Name, c.Message, strings.ReplaceAll(c.Remedy, "\n", " // "))
	for _, m := range s.Members {
		text = strings.ReplaceAll(text, fmt.Sprintf("%s (%s)", m.Name, m.Endpoint), m.Name)
		text = strings.ReplaceAll(text, m.Endpoint, "URL-"+m.Name)
	}
	return text
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// raise raises an alarm for the first member.
func (s *scene) raise(kind pb.AlarmType) {
	s.Helper()
	answer, err := s.client.Status(s.Context(), s.Members[0].Endpoint)
	s.must(err)
	_, err = pb.NewMaintenanceClient(s.client.ActiveConnection()).Alarm(s.Context(),
		&pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: answer.Header.MemberId, Alarm: kind})
	s.must(err)
}

func TestHealthyCluster_OfEachVersion(t *testing.T) {
	for _, minor := range []string{"3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			s := newScene(t, 3, etcdserver.Options{Versions: []string{minor, minor, minor}})
			s.config.Hash = true
			s.wants()
			s.wants("ok quorum majority | 3 of 3 voters work, and 2 are a majority", "ok quorum margin | 1 voter may fail", "ok alarms alarms | none",
				"ok database m0 | of the quota of 8.0 GiB", "ok revision lag | 3 members caught up", "ok revision hash | 3 members have the same keys",
				"ok learners learners | none", "ok versions versions | runs "+minor, "ok certificates certificates | none")
		})
	}
}

func TestOneEndpoint_MarginIsUnknownWithoutCluster(t *testing.T) {
	s := newScene(t, 3, etcdserver.Options{})
	s.config.Endpoints = s.config.Endpoints[:1]
	s.wants("ok quorum majority | a majority of 3 voters agrees", "unknown quorum margin | no answer from m1, m2 | ask every member: pass --cluster")
	s.config.Cluster = true
	s.wants()
}

func TestMemberStopped_AndThenTheQuorum(t *testing.T) {
	s := newScene(t, 3, etcdserver.Options{})
	s.Members[2].Stop()
	s.wants("ok quorum majority | 2 of 3 voters work", "failed quorum margin | no other voter may fail", "failed quorum m2 | no connection: connection refused | start the member",
		"ok revision lag | 2 members caught up")
	s.Members[1].Stop()
	s.wants("failed quorum majority | no majority: 2 of 3 voters must agree, and reads and writes wait; m1, m2 do not answer; m0 knows no leader | start members until 2 run",
		"failed quorum margin | none", "failed quorum leader | m0 knows no leader")
}

func TestMemberHangs_OthersAreReported(t *testing.T) {
	s := newScene(t, 3, etcdserver.Options{})
	s.config.CommandTimeout = time.Second
	s.must(s.Members[1].Suspend())
	defer func() { _ = s.Members[1].Resume() }()
	s.wants("ok quorum majority | 2 of 3", "failed quorum m1 | it accepts connections, and did not answer within 1s", "ok database m0", "ok database m2")
}

func TestMembersHang_WithoutQuorum(t *testing.T) {
	s := newScene(t, 3, etcdserver.Options{})
	s.config.CommandTimeout = time.Second
	for _, m := range s.Members[1:] {
		s.must(m.Suspend())
		defer func() { _ = m.Resume() }()
	}
	s.wants("failed quorum majority | m1, m2 do not answer; m0 knows no leader", "ok alarms alarms | none", "ok database m0")
}

func TestNoSpace(t *testing.T) {
	s := newScene(t, 1, etcdserver.Options{Flags: []string{"--quota-backend-bytes=4194304"}})
	for range 100 {
		if _, err := s.client.Put(s.Context(), "a", strings.Repeat("x", 200_000)); err != nil {
			break
		}
	}
	s.wants("failed alarms NOSPACE | the database of m0 reached its quota", "failed database m0 | of the quota of 4.0 MiB")
	s.wants(fmt.Sprintf("failed alarms NOSPACE | etcdctl --endpoints=URL-m0 compact %d // etcdctl --endpoints=URL-m0 defrag // etcdctl --endpoints=URL-m0 alarm disarm", s.observe().Endpoints[0].Status.Revision))
}

func TestCorrupt(t *testing.T) {
	for _, minor := range []string{"3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			s := newScene(t, 1, etcdserver.Options{Versions: []string{minor}})
			s.raise(pb.AlarmType_CORRUPT)
			s.wants("failed alarms CORRUPT | the data of m0 differs", "failed alarms CORRUPT | member remove")
		})
	}
}

func TestFragmentation_AfterKeysWereDeleted(t *testing.T) {
	s := newScene(t, 1, etcdserver.Options{})
	for i := range 110 {
		_, err := s.client.Put(s.Context(), fmt.Sprint("k", i), strings.Repeat("x", 1<<20))
		s.must(err)
	}
	s.wants()
	deleted, err := s.client.Delete(s.Context(), "k", clientv3.WithPrefix())
	s.must(err)
	_, err = s.client.Compact(s.Context(), deleted.Header.Revision, clientv3.WithCompactPhysical())
	s.must(err)
	s.meanwhile = func() { // etcd counts freed pages as unused after the next writes
		_, err := s.client.Put(s.Context(), "written", "later")
		s.must(err)
	}
	s.wants("warning database m0 | etcdctl --endpoints=URL-m0 defrag")
	_, err = s.client.Defragment(s.Context(), s.Members[0].Endpoint)
	s.must(err)
	s.wants()
}

func TestLearner_BeforeAndAfterItStarts(t *testing.T) {
	s := newScene(t, 1, etcdserver.Options{})
	m, err := s.Join(s.Context(), t.TempDir())
	s.must(err)
	added, err := s.client.MemberAddAsLearner(s.Context(), []string{m.Peer})
	s.must(err)
	id := fmt.Sprintf("%x", added.Member.ID)
	s.config.Endpoints = s.config.Endpoints[:1]
	s.wants("ok quorum majority | the only voter works", "failed quorum member "+id+" | was added, and never started | member remove "+id, "warning learners member "+id+" | has not started")
	s.must(m.Start())
	t.Cleanup(m.Stop)
	s.config.Cluster = true
	s.wants("warning learners m1 | nothing promotes it | etcdctl --endpoints=URL-m0 member promote "+id, "ok revision lag")
}

func TestMixedVersions(t *testing.T) {
	s := newScene(t, 3, etcdserver.Options{Versions: []string{"3.7", "3.6", "3.6"}})
	s.wants("warning versions versions | m1, m2 run 3.6.", "warning versions versions | finish the upgrade: run 3.7.", "ok quorum majority | 3 of 3")
}

func TestTwoClusters(t *testing.T) {
	s := newScene(t, 1, etcdserver.Options{})
	other, err := etcdserver.Start(t.Context(), t.TempDir(), 1)
	s.must(err)
	t.Cleanup(other.Stop)
	s.config.Endpoints = append(s.config.Endpoints, other.Members[0].Endpoint)
	s.wants("failed quorum " + other.Members[0].Endpoint + " | belongs to cluster")
}

func TestAuthentication(t *testing.T) {
	const password = "hunter2:x"
	for _, minor := range []string{"3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			s := newScene(t, 3, etcdserver.Options{Versions: []string{minor, minor, minor}})
			for _, user := range []string{"root", "reader"} {
				_, err := s.client.UserAdd(s.Context(), user, password)
				s.must(err)
			}
			_, err := s.client.UserGrantRole(s.Context(), "root", "root")
			s.must(err)
			_, err = s.client.AuthEnable(s.Context())
			s.must(err)

			s.wants("unknown quorum URL-m0 | etcd's authentication is enabled: it tells its status to its users, and no user was given | pass --user NAME:PASSWORD", "unknown alarms alarms | no member said its status")
			s.config.User, s.config.Password = "root", "wrong"
			s.wants("unknown quorum URL-m0 | it does not know the user root, or not with this password")
			s.config.User, s.config.Password = "reader", password
			s.wants()
			s.config.Hash = true
			s.wants("unknown revision hash | permission denied | with etcd's authentication, pass a user with the role root")
			s.config.User = "root"
			s.wants()
			if text := fmt.Sprintf("%+v", doctor.Judge(s.observe())); strings.Contains(text, password) || strings.Contains(text, "hunter2") {
				t.Errorf("the report has the password: %s", text)
			}

			s.Members[1].Stop()
			s.Members[2].Stop()
			s.config.CommandTimeout = time.Second
			s.wants("failed quorum majority | no majority", "failed quorum URL-m0 | it did not answer the login of user root within 1s | repair the majority first")
		})
	}
}

// secure writes the files of certificates that end then, and returns the flags of
// members, and those of a client.
func secure(t *testing.T, end time.Time) (etcdserver.Options, gather.Config) {
	t.Helper()
	issued, err := pki.Until(end, "team", "example")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(files map[string][]byte) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(issued.Server)
	write(issued.Operator)
	file := func(name string) string { return filepath.Join(folder, name) }
	return etcdserver.Options{TLS: issued.Client, Flags: []string{
			"--cert-file=" + file("server.crt"), "--key-file=" + file("server.key"), "--trusted-ca-file=" + file("server-ca.crt"), "--client-cert-auth",
		}}, gather.Config{
			CACert: file("etcd-client-ca.crt"), Cert: file("etcd-client.crt"), Key: file("etcd-client.key"),
			DialTimeout: 2 * time.Second, CommandTimeout: 5 * time.Second,
		}
}

func TestTLS(t *testing.T) {
	options, config := secure(t, time.Now().Add(23*time.Hour))
	s := newScene(t, 1, options)
	config.Endpoints = s.config.Endpoints
	s.config = config
	s.wants()
	s.wants("ok certificates m0 | 22 hours left", "ok certificates --cert "+config.Cert+" | 22 hours left", "ok certificates --cacert "+config.CACert+" | 23 hours left")

	s.config.Endpoints = []string{strings.TrimPrefix(s.Members[0].Endpoint, "https://")} // TLS follows from the files
	s.wants()
	s.config.Endpoints = config.Endpoints

	s.config.Cert, s.config.Key = "", ""
	s.wants("failed quorum URL-m0 | it ends the TLS handshake", "failed quorum URL-m0 | compare --cacert, --cert and --key")
	s.config.CACert = ""
	s.wants("failed quorum URL-m0 | the client does not trust the certificate: x509: certificate signed by unknown authority", "failed certificates URL-m0 | the client does not trust it: x509")
	s.config = config
	s.config.CACert, s.config.SkipVerify = "", true
	s.wants("warning certificates m0 | the client does not trust it: x509", "ok quorum majority")
	s.config = config
	s.config.Endpoints = []string{strings.Replace(s.Members[0].Endpoint, "https", "http", 1)}
	s.wants("failed quorum " + s.config.Endpoints[0])
}

func TestCertificates_ThatExpireSoon(t *testing.T) {
	options, config := secure(t, time.Now().Add(10*time.Minute))
	s := newScene(t, 1, options)
	config.Endpoints = s.config.Endpoints
	s.config = config
	s.wants(`warning certificates m0 | the certificate of "CN=server" expires in | minutes, at `, "warning certificates m0 | issue another certificate for the member",
		`warning certificates --cert `+config.Cert+` | the certificate of "CN=etcd-client" expires in | minutes, at `)
}

func TestCertificates_ThatExpired(t *testing.T) {
	options, config := secure(t, time.Now().Add(10*time.Minute))
	s := newScene(t, 1, options)
	expired, _ := secure(t, time.Now().Add(-time.Minute))
	for i, name := range []string{"server.crt", "server.key"} { // etcd reads them for each handshake
		text, err := os.ReadFile(strings.SplitN(expired.Flags[i], "=", 2)[1])
		s.must(err)
		s.must(os.WriteFile(filepath.Join(filepath.Dir(config.Cert), name), text, 0o600))
	}
	config.Endpoints = s.config.Endpoints
	s.config = config
	s.wants("failed quorum URL-m0 | the client does not trust the certificate", `failed certificates URL-m0 | the certificate of "CN=server" expired at `)
}
