package backup_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/pki"
)

// marker is what hostile servers say; no status may contain it.
const marker = "hunter2"

// A hostile server listens at an address, which its function returns with the
// scheme.
type hostile func(t *testing.T) (url string, ca []byte)

// says answers every request with a status, headers and a body.
func says(status int, contentType, body string) hostile {
	return func(t *testing.T) (string, []byte) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"Server", "X-Amz-Request-Id", "X-Amz-Id-2", "X-Amz-Meta-Etcd-Version", "X-Amz-Meta-Usher-Backup", "X-Amz-Error-Code", "X-Amz-Error-Message", "Etag", "X-Amz-Bucket-Region", "Last-Modified"} {
				w.Header().Set(name, marker)
			}
			w.Header().Set("Content-Type", contentType)
			if status >= 300 && status < 400 {
				w.Header().Set("Location", "http://"+marker+".example/"+marker)
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL, nil
	}
}

func s3Error(code string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>` + marker + `</Message><Resource>` + marker + `</Resource><RequestId>` + marker + `</RequestId></Error>`
}

// raw writes bytes to every connection.
func raw(answer string) hostile {
	return func(t *testing.T) (string, []byte) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 1024))
				_, _ = fmt.Fprint(c, answer)
				_ = c.Close()
			}
		}()
		return "http://" + l.Addr().String(), nil
	}
}

// certified presents a certificate for other names, of a CA that the Secret
// has or does not have.
func certified(known bool) hostile {
	return func(t *testing.T) (string, []byte) {
		certificates, err := pki.New(marker, marker)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificates.Server["server.crt"], certificates.Server["server.key"])
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		if !known {
			if certificates, err = pki.New("any", "any"); err != nil {
				t.Fatal(err)
			}
		}
		return s.URL, certificates.Server["server-ca.crt"]
	}
}

// hostileStores are servers in the place of S3.
func hostileStores() map[string]hostile {
	all := map[string]hostile{
		"json-403": says(403, "application/json", `{"error":"`+marker+`"}`), "text-200": says(200, "text/plain", marker), "text-500": says(500, "text/plain", marker),
		"html-404": says(404, "text/html", "<html>"+marker), "xml-200": says(200, "application/xml", s3Error(marker)), "empty-204": says(204, "text/plain", ""),
		"ssh": raw("SSH-2.0-" + marker + "\r\n"), "status-line": raw("HTTP/1.1 499 " + marker + "\r\nContent-Length: 0\r\n\r\n"),
		"bad-header": raw("HTTP/1.1 200 OK\r\n" + marker + " : " + marker + "\r\n\r\n"), "bad-length": raw("HTTP/1.1 200 OK\r\nContent-Length: " + marker + "\r\n\r\n"),
		"cut": raw("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n" + marker), "bad-chunk": raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + marker + "\r\n"),
		"other-name": certified(true), "other-ca": certified(false),
	}
	for _, status := range []int{301, 307, 400, 403, 404, 409, 418, 500, 503} {
		all[fmt.Sprintf("s3-%d", status)] = says(status, "application/xml", s3Error(marker))
	}
	for _, code := range []string{"NoSuchBucket", "NoSuchKey", "AccessDenied", "SlowDown", "AuthorizationHeaderMalformed", "RequestTimeTooSkewed", "ExpiredToken", "InvalidToken"} {
		all["code-"+strings.ToLower(code)] = says(400, "application/xml", s3Error(code))
	}
	return all
}

// A liar is an etcd that claims a state, and breaks its snapshot.
type liar struct {
	etcdserverpb.UnimplementedMaintenanceServer
	errors []string
}

// Status implements etcdserverpb.MaintenanceServer.
func (l *liar) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: 3}, Version: "3.6." + marker, Leader: 2, Errors: l.errors}, nil
}

// Snapshot implements etcdserverpb.MaintenanceServer.
func (l *liar) Snapshot(_ *etcdserverpb.SnapshotRequest, to grpc.ServerStreamingServer[etcdserverpb.SnapshotResponse]) error {
	if err := to.Send(&etcdserverpb.SnapshotResponse{Blob: []byte(marker), RemainingBytes: 1 << 20, Version: marker}); err != nil {
		return err
	}
	return status.Error(codes.Internal, marker)
}

// grpcServer serves a liar, or an error for everything.
func grpcServer(l *liar, options ...grpc.ServerOption) hostile {
	return func(t *testing.T) (string, []byte) {
		s := grpc.NewServer(append(options, grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(codes.PermissionDenied, marker) }))...)
		if l != nil {
			etcdserverpb.RegisterMaintenanceServer(s, l)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Serve(listener) }()
		t.Cleanup(s.Stop)
		return "http://" + listener.Addr().String(), nil
	}
}

// withTLS turns the URL of a server into one with TLS.
func withTLS(of hostile) hostile {
	return func(t *testing.T) (string, []byte) {
		url, ca := of(t)
		return strings.Replace(url, "http:", "https:", 1), ca
	}
}

// hostileEtcds are servers in the place of etcd.
func hostileEtcds(t *testing.T) map[string]hostile {
	certificates, err := pki.New(marker, marker)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificates.Server["server.crt"], certificates.Server["server.key"])
	if err != nil {
		t.Fatal(err)
	}
	secured := grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	return map[string]hostile{
		"grpc": grpcServer(nil), "liar": grpcServer(&liar{}), "alarms": grpcServer(&liar{errors: []string{"memberID:2 alarm:CORRUPT " + marker}}),
		"http": says(403, "text/plain", marker), "ssh": raw("SSH-2.0-" + marker + "\r\n"), "certificate": withTLS(grpcServer(nil, secured)), "text-for-tls": withTLS(raw(marker + marker)),
	}
}

// TestNothingThatAServerSaysReachesAnObject lets hostile servers stand for S3
// and etcd, and looks for their words in every object and Event of the
// namespace.
func TestNothingThatAServerSaysReachesAnObject(t *testing.T) {
	running, err := ushercontroller.Start(context.WithoutCancel(t.Context()), world.plane, logr.Discard(), func(o *controllers.Options) {
		o.Controllers, o.LeaderElection = []string{"etcdbackup", "etcdrestore"}, false
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("stores", func(t *testing.T) {
		for name, server := range hostileStores() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ns := namespace(t)
				url, ca := server(t)
				data := maps.Clone(world.s3.Secret())
				if ca != nil {
					data["ca.crt"] = ca
				}
				create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hostile"}, Data: data})
				b := backup(ns, "", "backups/hostile")
				b.Spec.S3.Endpoint, b.Spec.S3.AWSSecret = url, "hostile"
				create(t, b)
				create(t, &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "example"}, Spec: etcdv1beta2.ClusterSpec{Size: 1, Version: "3.6.16"}})
				r := &etcdv1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "back"}, Spec: etcdv1beta2.RestoreSpec{
					BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: b.Spec.BackupSource, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
				}}
				create(t, r)
				silent(t, ns, b, r)
			})
		}
	})
	t.Run("etcds", func(t *testing.T) {
		for name, server := range hostileEtcds(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ns := namespace(t)
				b := backup(ns, world.s3.Address, "backups/hostile-etcd-"+name)
				url, _ := server(t)
				b.Spec.EtcdEndpoints = []string{url}
				if strings.HasPrefix(url, "https:") {
					certificates, err := pki.New("any", "any")
					if err != nil {
						t.Fatal(err)
					}
					create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "client"}, Data: certificates.Operator})
					b.Spec.ClientTLSSecret = "client"
				}
				create(t, b)
				silent(t, ns, b)
			})
		}
	})
}

// silent waits until the objects say that they failed, and looks for the
// marker.
func silent(t *testing.T, namespace string, all ...client.Object) {
	t.Helper()
	for _, o := range all {
		var message string
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
			if err := world.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return false, err
			}
			var is *metav1.Condition
			switch o := o.(type) {
			case *etcdv1beta2.EtcdBackup:
				is = meta.FindStatusCondition(o.Status.Conditions, etcdbackup.ConditionSaved)
			case *etcdv1beta2.EtcdRestore:
				is = meta.FindStatusCondition(o.Status.Conditions, "Restored")
			}
			if is == nil || is.Status != metav1.ConditionFalse || is.Message == "" {
				return false, nil
			}
			message = is.Reason + ": " + is.Message
			return true, nil
		})
		if err != nil {
			t.Fatalf("%T: %v", o, err)
		}
		t.Logf("%T: %s", o, message)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(text)), marker) {
			t.Errorf("%T contains the server's words: %s", o, text)
		}
	}
	clients, err := kubernetes.NewForConfig(world.plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	var events *eventsv1.EventList
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		events, err = clients.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(events.Items) >= len(all), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(events); err != nil || strings.Contains(strings.ToLower(string(text)), marker) {
		t.Errorf("an Event contains the server's words: %s, %v", text, err)
	}
}
