package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
	"github.com/usher-dev/usher/controllers/etcd/reach"
	"github.com/usher-dev/usher/test/objectstore"
	"github.com/usher-dev/usher/test/pki"
)

var server *objectstore.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "objects-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if server, err = objectstore.Start(folder, "backups"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	return m.Run()
}

// source returns a place in the server, reached at an address.
func source(address, path string) *etcdv1beta2.S3Source {
	return &etcdv1beta2.S3Source{Path: path, AWSSecret: "aws", Endpoint: "http://" + address, ForcePathStyle: true}
}

// here is a route to the servers of this machine.
func here(t *testing.T) *reach.Route {
	t.Helper()
	allowed, err := reach.ParseDestinations([]string{"127.0.0.0/8:*"})
	if err != nil {
		t.Fatal(err)
	}
	return (&reach.Stores{Allowed: allowed}).Route("any", reach.Grace{})
}

func inS3(t *testing.T, address string) store.Store {
	t.Helper()
	s, _, err := s3.New(source(address, "backups/any"), server.Secret(), here(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onVolume is the store of a folder at the other end of a TLS connection.
func onVolume(t *testing.T, root string) (v *store.Volume, cut func()) {
	t.Helper()
	certificates, err := pki.New("any", "any")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificates.Server["server.crt"], certificates.Server["server.key"])
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	folder, err := store.OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	var pod net.Conn
	go func() {
		var err error
		if pod, err = tls.Dial("tcp", l.Addr().String(), certificates.Client); err == nil {
			err = store.Serve(context.WithoutCancel(t.Context()), pod, folder)
		}
		served <- errors.Join(err, folder.Close())
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if v, err = store.NewVolume(t.Context(), conn, store.BehindClaim()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return v, func() { _ = conn.(*tls.Conn).NetConn().Close() }
}

func content(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b)
	return b
}

func read(t *testing.T, s store.Store, key string) ([]byte, *store.Object) {
	t.Helper()
	r, o, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b, o
}

func TestStoresKeepWhatTheyAreGiven(t *testing.T) {
	folder, err := store.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	about := store.About{Revision: 42, Version: "3.6.16", Taken: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Maker: "uid"}
	volume, _ := onVolume(t, t.TempDir())
	for name, s := range map[string]store.Store{"S3": inS3(t, server.Address), "a folder": folder, "a volume": volume} {
		for _, size := range []int{1, 100_000, 5 << 20, 12<<20 + 1} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				key := fmt.Sprintf("keep/size/%d_v1", size)
				want := content(size)
				if err := s.Put(t.Context(), key, about, iotest.HalfReader(bytes.NewReader(want))); err != nil {
					t.Fatal(err)
				}
				got, object := read(t, s, key)
				if !bytes.Equal(got, want) {
					t.Errorf("read %d bytes, not the %d that were saved", len(got), size)
				}
				is, err := s.Stat(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				object.Modified, is.Modified = time.Time{}, time.Time{}
				wantObject := store.Object{Key: key, Size: int64(size), About: about}
				if diff := cmp.Diff([]store.Object{wantObject, wantObject}, []store.Object{*object, *is}); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
		t.Run(name+" lists by prefix and deletes", func(t *testing.T) {
			all, err := s.List(t.Context(), "keep/size/1")
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, o := range all {
				keys = append(keys, o.Key)
			}
			slices.Sort(keys)
			if diff := cmp.Diff([]string{"keep/size/100000_v1", "keep/size/12582913_v1", "keep/size/1_v1"}, keys); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for range 2 { // the second time it does not exist
				if err := s.Delete(t.Context(), "keep/size/1_v1"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Stat(t.Context(), "keep/size/1_v1"); store.ReasonOf(err) != store.NotFound {
				t.Errorf("after deletion: %v", err)
			}
			if none, err := s.List(t.Context(), "nothing/here"); err != nil || len(none) > 0 {
				t.Errorf("listing nothing: %v, %v", none, err)
			}
		})
	}
}

func TestAStreamThatBreaksLeavesNothing(t *testing.T) {
	root := t.TempDir()
	folder, err := store.OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	broken := errors.New("the member went away")
	volume, _ := onVolume(t, t.TempDir())
	for name, s := range map[string]store.Store{"S3": inS3(t, server.Address), "a folder": folder, "a volume": volume} {
		for _, size := range []int{1000, 12 << 20} {
			t.Run(fmt.Sprintf("%s after %d bytes", name, size), func(t *testing.T) {
				key := fmt.Sprintf("broken/%d", size)
				err := s.Put(t.Context(), key, store.About{}, io.MultiReader(bytes.NewReader(content(size)), iotest.ErrReader(broken)))
				if !errors.Is(err, broken) || store.ReasonOf(err) != "" {
					t.Errorf("error is %v, reason %q", err, store.ReasonOf(err))
				}
				if all, err := s.List(t.Context(), "broken/"); err != nil || len(all) > 0 {
					t.Errorf("left behind: %v, %v", all, err)
				}
			})
		}
	}
}

func TestFolder_KeysCannotLeaveIt(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	if err := os.Symlink(outside, root+"/link"); err != nil {
		t.Fatal(err)
	}
	folder, err := store.OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	volume, _ := onVolume(t, root)
	for _, key := range []string{"../escaped", "link/escaped", "/etc/escaped"} {
		for name, s := range map[string]store.Store{"a folder": folder, "a volume": volume} {
			if err := s.Put(t.Context(), key, store.About{}, strings.NewReader("x")); err == nil {
				t.Errorf("%s: %s was written", name, key)
			}
			if _, _, err := s.Get(t.Context(), key); err == nil {
				t.Errorf("%s: %s was read", name, key)
			}
		}
	}
}

func TestErrorsAreNamed(t *testing.T) {
	proxy, err := objectstore.StartProxy(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	wrong := map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = " + objectstore.AccessKey + "\naws_secret_access_key = wrong\n")}
	unknown := map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = nobody\naws_secret_access_key = wrong\n")}
	for name, tc := range map[string]struct {
		path   string
		secret map[string][]byte
		fault  objectstore.Fault
		want   store.Reason
	}{
		"a bucket that is not there": {"missing/key", server.Secret(), objectstore.Fault{}, store.NoBucket},
		"a wrong secret key":         {"backups/key", wrong, objectstore.Fault{}, store.Denied},
		"an unknown access key":      {"backups/key", unknown, objectstore.Fault{}, store.Denied},
		"a server that refuses":      {"backups/key", server.Secret(), objectstore.Fault{Refuse: true}, store.Unavailable},
		"an upload that is cut":      {"backups/key", server.Secret(), objectstore.Fault{CutUp: 200_000}, store.Unavailable},
		"an answer that is cut":      {"backups/key", server.Secret(), objectstore.Fault{CutDown: 20}, store.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.Set(tc.fault)
			s, key, err := s3.New(source(proxy.Address, tc.path), tc.secret, here(t))
			if err != nil {
				t.Fatal(err)
			}
			err = s.Put(t.Context(), key, store.About{}, bytes.NewReader(content(12<<20)))
			if store.ReasonOf(err) != tc.want {
				t.Errorf("reason is %q: %v", store.ReasonOf(err), err)
			}
			if err != nil && strings.Contains(err.Error(), "wrong\n") {
				t.Errorf("the error tells the secret: %v", err)
			}
			proxy.Set(objectstore.Fault{})
			if _, err := inS3(t, server.Address).Stat(t.Context(), "key"); store.ReasonOf(err) != store.NotFound {
				t.Errorf("something was saved: %v", err)
			}
		})
	}
}

func TestAByteThatChangesOnTheWayUpIsRefused(t *testing.T) {
	proxy, err := objectstore.StartProxy(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	proxy.Set(objectstore.Fault{FlipUp: 100_000})
	s, key, err := s3.New(source(proxy.Address, "backups/flipped"), server.Secret(), here(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, store.About{}, bytes.NewReader(content(1<<20))); err == nil {
		t.Error("it was saved")
	}
	if _, err := inS3(t, server.Address).Stat(t.Context(), key); store.ReasonOf(err) != store.NotFound {
		t.Errorf("something was saved: %v", err)
	}
}

func TestAStoreThatStallsIsLeftWithItsContext(t *testing.T) {
	proxy, err := objectstore.StartProxy(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	proxy.Set(objectstore.Fault{StallUp: 100_000})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := inS3(t, proxy.Address).Put(ctx, "stalled", store.About{}, bytes.NewReader(content(12<<20))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

func TestSecretsSayWhatIsWrongWithThem(t *testing.T) {
	const keys = "aws_access_key_id = a\naws_secret_access_key = hidden\n"
	for name, tc := range map[string]struct {
		secret map[string][]byte
		want   string
	}{
		"no keys":                        {nil, "it has no keys"},
		"other keys":                     {map[string][]byte{"access": nil, "a": nil}, "it has a, access"},
		"no secret key":                  {map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = a\n")}, "holds no aws_access_key_id and aws_secret_access_key in [default]"},
		"another profile":                {map[string][]byte{"credentials": []byte("[prod]\n" + keys)}, "in [default]"},
		"no ini":                         {map[string][]byte{"credentials": []byte("[default\nhidden")}, "not in the format of the AWS CLI"},
		"a program to run":               {map[string][]byte{"credentials": []byte("[default]\n" + keys), "config": []byte("[default]\ncredential_process = /bin/hidden\n")}, "credential_process, which usher does not support"},
		"this process' own token":        {map[string][]byte{"credentials": []byte("[default]\nweb_identity_token_file = /hidden\n" + keys)}, "web_identity_token_file"},
		"a CA that is not a certificate": {map[string][]byte{"credentials": []byte("[default]\n" + keys), "ca.crt": []byte("hidden")}, "ca.crt contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := s3.New(source("s3.example:9000", "bucket/key"), tc.secret, here(t))
			if store.ReasonOf(err) != store.BadSecret || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
