package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredentials(t *testing.T) {
	const first = "data.config.containers[0]"
	env := func(name, value string) string {
		return `containers: [{name: c, image: i, env: [{name: ` + name + `, value: "` + value + `"}]}]`
	}
	for name, tc := range map[string]struct {
		config string
		want   []Credential
	}{
		"a password":            {env("DB_PASSWORD", "hunter2"), []Credential{{first + ".env[0].value", "the value of the variable DB_PASSWORD in the container c looks like a credential"}}},
		"a password of digits":  {env("password", "12345"), []Credential{{first + ".env[0].value", "the value of the variable password in the container c looks like a credential"}}},
		"a token":               {env("VAULT_TOKEN", "s.abc"), []Credential{{first + ".env[0].value", "the value of the variable VAULT_TOKEN in the container c looks like a credential"}}},
		"an API key":            {env("API_KEY", "abc"), []Credential{{first + ".env[0].value", "the value of the variable API_KEY in the container c looks like a credential"}}},
		"one word":              {env("APIKEY", "abc"), []Credential{{first + ".env[0].value", "the value of the variable APIKEY in the container c looks like a credential"}}},
		"a private key":         {env("A", "-----BEGIN EC PRIVATE KEY-----"), []Credential{{first + ".env[0].value", "the value of the variable A in the container c contains a private key"}}},
		"an access key of AWS":  {env("A", "AKIAIOSFODNN7EXAMPLE"), []Credential{{first + ".env[0].value", "the value of the variable A in the container c contains an access key of AWS"}}},
		"a JSON web token":      {env("A", "Bearer eyJhbGciOiJub25l.eyJzdWIiOiJhIn0.x"), []Credential{{first + ".env[0].value", "the value of the variable A in the container c contains a JSON web token"}}},
		"a URL with a password": {env("A", "postgres://app:hunter2@db/app"), []Credential{{first + ".env[0].value", "the value of the variable A in the container c contains a URL with a password"}}},
		"flags": {
			`{containers: [{name: c, image: i, command: [app, --token=abc], args: [--password, hunter2, --port, "8080"]}]}`,
			[]Credential{{first + ".command[1]", "the value of the flag token in the container c looks like a credential"}, {first + ".args[1]", "the value of the flag password in the container c looks like a credential"}},
		},
		"of an init container, and of the pod's own": {
			`{initContainers: [{name: c, image: i, env: [{name: SECRET, value: a}]}], appContainers: {env: [{name: SECRET, value: a}]}}`,
			[]Credential{{"data.config.initContainers[0].env[0].value", "the value of the variable SECRET in the container c looks like a credential"}, {"data.config.appContainers.env[0].value", "the value of the variable SECRET in the pod's own containers looks like a credential"}},
		},
		"of a Secret":            {`containers: [{name: c, image: i, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]`, nil},
		"a path":                 {env("TLS_KEY", "/etc/tls/tls.key"), nil},
		"another variable":       {`containers: [{name: c, image: i, env: [{name: A}], args: ["--token=$(A)"]}]`, nil},
		"a public key":           {env("PUBLIC_KEY", "abc"), nil},
		"a certificate":          {env("A", "-----BEGIN CERTIFICATE-----"), nil},
		"a switch":               {env("MOUNT_TOKEN", "false"), nil},
		"a name in the middle":   {env("TOKEN_URL", "https://a/b"), nil},
		"a word that ends alike": {env("MONKEY", "a"), nil},
		"no value":               {env("PASSWORD", ""), nil},
		"a flag without value":   {`containers: [{name: c, image: i, args: [--password, --port, "80"]}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mustParse(t, "t", tc.config, "").Credentials()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
