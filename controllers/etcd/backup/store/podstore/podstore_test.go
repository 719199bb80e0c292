package podstore_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/podstore"
)

// own is every identity that the pod must not use.
const own = "OWN-IDENTITY"

// A cloud stands in for a store, a token service and an agent, and for servers
// that nobody may ask.
type cloud struct {
	store, sts, agent, others *httptest.Server

	mu      sync.Mutex
	signers []string
	tokens  []string
	asked   []string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{}
	serve := func(handler http.HandlerFunc) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			handler(w, r)
		}))
		t.Cleanup(s.Close)
		return s
	}
	c.store = serve(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.signers = append(c.signers, strings.TrimPrefix(strings.Split(r.Header.Get("Authorization"), "/s3/")[0], "AWS4-HMAC-SHA256 Credential="))
	})
	c.sts = serve(func(w http.ResponseWriter, r *http.Request) {
		c.tokens = append(c.tokens, r.PostFormValue("Action")+" "+r.PostFormValue("RoleArn")+" "+r.PostFormValue("WebIdentityToken"))
		if r.PostFormValue("RoleArn") == "refused" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>secret words</Message></Error></ErrorResponse>`)
			return
		}
		fmt.Fprint(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>role</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2050-01-02T03:04:05Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
	})
	c.agent = serve(func(w http.ResponseWriter, r *http.Request) {
		c.tokens = append(c.tokens, r.URL.Path+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"AccessKeyId": "agent", "SecretAccessKey": "s", "Token": "t", "Expiration": "2050-01-02T03:04:05Z"}`)
	})
	c.others = serve(func(_ http.ResponseWriter, r *http.Request) { c.asked = append(c.asked, r.Method+" "+r.URL.Path) })
	return c
}

// TestOpen_UsesOnlyWhatTheCloudsWebhookSets gives the process an identity in every
// place where AWS' SDK seeks one.
func TestOpen_UsesOnlyWhatTheCloudsWebhookSets(t *testing.T) {
	home := t.TempDir()
	token := filepath.Join(home, "token")
	for name, text := range map[string]string{
		"credentials": "[default]\naws_access_key_id = " + own + "\naws_secret_access_key = " + own + "\n",
		"config":      "[default]\nregion = " + own + "\ncredential_process = /bin/echo " + own + "\n", "token": "the-token\n", "empty": "\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	irsa := func(c *cloud) map[string]string {
		return map[string]string{"AWS_ROLE_ARN": "role-arn", "AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ENDPOINT_URL_STS": c.sts.URL, "AWS_REGION": "eu-central-1"}
	}
	agent := func(c *cloud) map[string]string {
		return map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": c.agent.URL + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token}
	}
	with := func(of func(*cloud) map[string]string, name, value string) func(*cloud) map[string]string {
		return func(c *cloud) map[string]string {
			env := of(c)
			env[name] = value
			return env
		}
	}
	for name, tc := range map[string]struct {
		env    func(*cloud) map[string]string
		region string
		// refused is in the error of Open, reason that of a request.
		refused      string
		reason       store.Reason
		signer, asks string
	}{
		"nothing":                 {env: func(*cloud) map[string]string { return nil }, refused: "no identity in the cloud"},
		"a role without a token":  {env: with(irsa, "AWS_WEB_IDENTITY_TOKEN_FILE", ""), refused: "no identity in the cloud"},
		"a role":                  {env: irsa, signer: "role/", asks: "AssumeRoleWithWebIdentity role-arn the-token"},
		"a role, another region":  {env: irsa, region: "us-west-2", signer: "role/", asks: "AssumeRoleWithWebIdentity role-arn the-token"},
		"a role that is refused":  {env: with(irsa, "AWS_ROLE_ARN", "refused"), reason: store.NoIdentity, asks: "AssumeRoleWithWebIdentity refused the-token"},
		"a token that is missing": {env: with(irsa, "AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(home, "none")), reason: store.NoIdentity},
		"an agent":                {env: agent, signer: "agent/", asks: "/v1/credentials the-token"},
		"an agent elsewhere":      {env: with(agent, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/v1"), refused: "must be https"},
		"the metadata service":    {env: with(agent, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.169.254/latest"), refused: "must be https"},
		"a name of an agent":      {env: with(agent, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://agent.example/v1"), refused: "must be https"},
		"an agent without a key":  {env: with(agent, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", filepath.Join(home, "empty")), reason: store.NoIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			for name, value := range map[string]string{
				"HOME": home, "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "credentials"), "AWS_CONFIG_FILE": filepath.Join(home, "config"),
				"AWS_ACCESS_KEY_ID": own, "AWS_SECRET_ACCESS_KEY": own, "AWS_SESSION_TOKEN": own, "AWS_SDK_LOAD_CONFIG": "1", "AWS_PROFILE": "default",
				"AWS_ENDPOINT_URL": c.others.URL, "AWS_ENDPOINT_URL_S3": c.others.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": own,
				"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/own", "AWS_EC2_METADATA_SERVICE_ENDPOINT": c.others.URL, "AWS_DEFAULTS_MODE": "auto",
			} {
				t.Setenv(name, value)
			}
			for name, value := range tc.env(c) {
				t.Setenv(name, value)
			}
			b, err := podstore.Open(bucket.Options{Bucket: "backups", Region: tc.region, Endpoint: c.store.URL, PathStyle: true}, os.Getenv)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			err = b.Put(t.Context(), "key", store.About{}, strings.NewReader("content"))
			if store.ReasonOf(err) != tc.reason {
				t.Errorf("error is %v", err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if got := strings.Join(c.signers, " "); !strings.HasPrefix(got, tc.signer) || tc.signer == "" && got != "" {
				t.Errorf("the request is signed by %q", got)
			}
			if want := tc.region; want != "" && !strings.Contains(strings.Join(c.signers, " "), "/"+want) {
				t.Errorf("the request is signed %q", c.signers)
			}
			if got := strings.TrimSpace(strings.Join(c.tokens, " ")); got != tc.asks {
				t.Errorf("the cloud was asked %q", got)
			}
			if len(c.asked) > 0 {
				t.Errorf("others were asked: %v", c.asked)
			}
		})
	}
}

func TestAStoreIsNotOneOfTheNodesServices(t *testing.T) {
	c := newCloud(t)
	env := map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": c.agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": filepath.Join(t.TempDir(), "token")}
	if err := os.WriteFile(env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"], []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{"http://169.254.169.254", "http://[::ffff:169.254.169.254]", "http://[fd00:ec2::254]"} {
		b, err := podstore.Open(bucket.Options{Bucket: "backups", Endpoint: endpoint, PathStyle: true}, func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.List(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "an address of the node") {
			t.Errorf("%s: error is %v", endpoint, err)
		}
	}
}
