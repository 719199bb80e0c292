package restore_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/test/objectstore"
)

// Audiences of the tokens that EKS' webhook projects into pods.
const ofSTS, ofAgent = "sts.amazonaws.com", "pods.eks.amazonaws.com"

// cloud stands in for the parts of EKS: the webhook that gives pods of a
// ServiceAccount an identity, by what its name begins with; the token service; and
// the agent on the node. They know the API server's tokens, and give credentials
// without a session, which the S3 server of these tests does not know. The account
// irsa-refused has a role that does not trust it.
func (s *scene) cloud() {
	s.Helper()
	clients, err := kubernetes.NewForConfig(world.plane.Config)
	if err != nil {
		s.Fatal(err)
	}
	// trusted reports whether the token is that of one of the ServiceAccounts.
	trusted := func(token, audience, prefix string) bool {
		review, err := clients.AuthenticationV1().TokenReviews().Create(s.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Authenticated && review.Status.User.Username == "system:serviceaccount:"+s.namespace+":"+prefix
	}
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trusted(r.PostFormValue("WebIdentityToken"), ofSTS, "irsa") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>`)
			return
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><Expiration>2050-01-02T03:04:05Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, objectstore.AccessKey, objectstore.SecretKey)
	}))
	s.Cleanup(sts.Close)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trusted(r.Header.Get("Authorization"), ofAgent, "agent") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `{"AccessKeyId": %q, "SecretAccessKey": %q, "Expiration": "2050-01-02T03:04:05Z"}`, objectstore.AccessKey, objectstore.SecretKey)
	}))
	s.Cleanup(agent.Close)
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var p corev1.Pod
		if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &p) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		folder, env, audience := "/var/run/secrets/eks.amazonaws.com/serviceaccount", map[string]string(nil), ""
		switch {
		case strings.HasPrefix(p.Spec.ServiceAccountName, "irsa"):
			audience, env = ofSTS, map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/backups", "AWS_WEB_IDENTITY_TOKEN_FILE": folder + "/token", "AWS_ENDPOINT_URL_STS": sts.URL}
		case strings.HasPrefix(p.Spec.ServiceAccountName, "agent"):
			folder = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
			audience, env = ofAgent, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": folder + "/token"}
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if audience != "" {
			c := &p.Spec.Containers[0]
			for name, value := range env {
				c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
			}
			c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_REGION", Value: "us-east-1"})
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "aws-iam-token", MountPath: folder, ReadOnly: true})
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "aws-iam-token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, ExpirationSeconds: ptr.To[int64](86400), Path: "token"}}},
			}}})
			patch, _ := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": p.Spec}})
			review.Response.Patch, review.Response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
		}
		_ = json.NewEncoder(w).Encode(review)
	}))
	s.Cleanup(webhook.Close)
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-identity-" + s.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "pod-identity.eks.example", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &webhook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	configurations := clients.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configurations.Create(s.Context(), configuration, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := configurations.Delete(context.Background(), configuration.Name, metav1.DeleteOptions{}); err != nil {
			s.Error(err)
		}
	})
	// The API server calls a new webhook a moment later.
	s.account("irsa-probe")
	s.until("the webhook", func() any { return nil }, func() bool {
		probe := &corev1.Pod{ObjectMeta: s.meta("probe"), Spec: corev1.PodSpec{ServiceAccountName: "irsa-probe", SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}, Containers: []corev1.Container{{Name: "app", Image: "app", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}}}}
		is, err := clients.CoreV1().Pods(s.namespace).Create(s.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(is.Spec.Containers[0].Env) > 0
	})
}

func (s *scene) account(name string) {
	s.Helper()
	s.create(&corev1.ServiceAccount{ObjectMeta: s.meta(name)})
}

func byAccount(account, path string) etcdv1beta2.BackupSource {
	return etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: path, ServiceAccountName: account, Endpoint: "http://" + world.s3.Address, ForcePathStyle: true}}
}

// TestABackupUnderAServiceAccountIsRestored backs a cluster up periodically with
// each way to get an identity, loses all of it, and restores it.
func TestABackupUnderAServiceAccountIsRestored(t *testing.T) {
	s := newScene(t)
	s.cloud()
	s.account("irsa")
	s.account("agent")
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	var is etcdv1beta2.BackupStatus
	for _, account := range []string{"agent", "irsa"} {
		b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(account), Spec: etcdv1beta2.BackupSpec{
			EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageS3, BackupSource: byAccount(account, "backups/"+s.namespace+"/"+account),
			BackupPolicy: &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 2, MaxBackups: 1},
		}}
		s.create(b)
		seen := map[string]bool{}
		s.until("two backups", func() any { return b.Status }, func() bool {
			s.get(b, account)
			if b.Status.Succeeded {
				seen[b.Status.Path] = true
			}
			for _, p := range s.volumePods() {
				if spec := p.Spec; metav1.IsControlledBy(&p, b) && (spec.ServiceAccountName != account || *spec.AutomountServiceAccountToken || spec.HostNetwork) {
					t.Errorf("the pod is %+v", spec)
				}
			}
			return len(seen) == 2
		})
		if err := world.client.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		is = b.Status
		for _, condition := range []string{etcdbackup.ConditionSaved, etcdbackup.ConditionRetained, etcdbackup.ConditionStoreAllowed} {
			if !meta.IsStatusConditionTrue(is.Conditions, condition) {
				t.Errorf("conditions are %+v", is.Conditions)
			}
		}
		if is.Source == nil || is.Source.S3 == nil || is.Source.S3.ServiceAccountName != account || is.Source.S3.AWSSecret != "" {
			t.Errorf("the source is %+v", is.Source)
		}
	}
	s.lose("example")
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back"), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: is.Source.StorageType(), BackupSource: *is.Source, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
	}}
	r.Annotations = map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}
	s.create(r)
	s.untilRestore("back", "the restore", succeeded)
	s.untilServing("example", 1)
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
}

// TestABackupSaysWhatItsServiceAccountLacks names ServiceAccounts that the pod
// cannot use.
func TestABackupSaysWhatItsServiceAccountLacks(t *testing.T) {
	s := newScene(t)
	s.cloud()
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	for account, tc := range map[string]struct {
		reason store.Reason
		says   string
	}{
		"missing":       {store.NoPod, "create the ServiceAccount"},
		"plain":         {store.Unavailable, "Annotate the ServiceAccount with its role"},
		"irsa-refused":  {store.NoIdentity, "the role's trust policy names the ServiceAccount"},
		"agent-refused": {store.NoIdentity, "the ServiceAccount agent-refused no credentials"},
	} {
		if account != "missing" {
			s.account(account)
		}
		b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(account), Spec: etcdv1beta2.BackupSpec{
			EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageS3, BackupSource: byAccount(account, "backups/"+s.namespace),
		}}
		s.create(b)
		s.until("the condition of "+account, func() any { return b.Status }, func() bool {
			s.get(b, account)
			saved := meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionSaved)
			return saved != nil && saved.Reason == string(tc.reason) && strings.Contains(saved.Message, tc.says)
		})
	}
}
