package neutron

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

func TestCredentialsOfAFile(t *testing.T) {
	got, err := source{file: "testdata/clouds.yaml", cloud: "here"}.parse(file(t, "testdata/clouds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got.auth.IdentityEndpoint != "https://keystone.example/v3" || got.auth.ApplicationCredentialID != "an-id" || !got.auth.AllowReauth {
		t.Errorf("read %+v", got.auth)
	}
	if got.endpoint.Region != "RegionOne" {
		t.Errorf("the region is %q", got.endpoint.Region)
	}
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OS_AUTH_URL": "https://keystone.example/v3", "OS_USERNAME": "demo", "OS_PASSWORD": "pass: {word}", "OS_PROJECT_NAME": "p",
		"OS_USER_DOMAIN_NAME": "users", "OS_PROJECT_DOMAIN_NAME": "projects", "OS_REGION_NAME": "RegionOne", "OS_CLOUD": "",
	} {
		t.Setenv(name, value)
	}
	var s source
	document, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.parse(document)
	if err != nil {
		t.Fatal(err)
	}
	want := &gophercloud.AuthScope{ProjectName: "p", DomainName: "projects"}
	if diff := cmp.Diff(want, got.auth.Scope); diff != "" {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	if got.auth.Username != "demo" || got.auth.Password != "pass: {word}" || got.auth.DomainName != "users" || got.endpoint.Region != "RegionOne" {
		t.Error("the environment is not what was read")
	}
}

func TestCredentials_Invalid(t *testing.T) {
	t.Setenv("OS_AUTH_URL", "")
	const secret = "hunter2secret"
	for name, test := range map[string]struct{ document, want string }{
		"no YAML":                 {"{" + secret, `is not a valid clouds.yaml: write a file that`},
		"another document":        {"- " + secret, `is not a valid clouds.yaml: write a file that`},
		"no clouds":               {"{}", `has no cloud "here" among its clouds`},
		"another cloud":           {"clouds: {there: {}}", `has no cloud "here" among its clouds`},
		"no auth":                 {"clouds: {here: {}}", `the cloud "here" has no auth: write auth_url and the credentials`},
		"no address":              {"clouds: {here: {auth: {password: " + secret + "}}}", `the cloud "here" has no auth.auth_url`},
		"a value of two types":    {"clouds: {here: {auth: {auth_url: http://k/v3, password: [" + secret + "]}}}", `is not a valid clouds.yaml: write a file that`},
		"verify is not a boolean": {"clouds: {here: {verify: " + secret + ", auth: {auth_url: http://k/v3}}}", `is not a valid clouds.yaml: write a file that`},
		"a CA that is nowhere":    {"clouds: {here: {cacert: /nowhere/ca.pem, auth: {auth_url: http://k/v3}}}", `failed to open the CA cert file`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clouds.yaml")
			if err := os.WriteFile(path, []byte(test.document), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := New(Options{Cluster: "c", CloudsFile: path, Cloud: "here"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("the error is %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), secret[:6]) {
				t.Errorf("the error quotes a secret: %v", err)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, err := New(Options{Cluster: "c", CloudsFile: filepath.Join(t.TempDir(), "clouds.yaml"), Cloud: "here"}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("no environment", func(t *testing.T) {
		_, err := New(Options{Cluster: "c"})
		const want = "no credentials: set --neutron-clouds-file and --neutron-cloud, or OS_AUTH_URL and the other variables OS_*"
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %q", err, want)
		}
	})
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
