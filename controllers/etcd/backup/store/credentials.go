package store

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"gopkg.in/ini.v1"
)

// Keys of the Secret that an S3Source names.
const (
	// KeyCredentials and KeyConfig hold AWS' own files, profile default.
	KeyCredentials = "credentials"
	KeyConfig      = "config"
	// KeyCA may hold the certificates, in PEM, of who signed the endpoint's.
	KeyCA = "ca.crt"
)

const (
	defaultProfile = "default"
	defaultRegion  = "us-east-1"
)

// refused are settings that would make this process run a program, read its own
// token or ask the machine it runs on who it is: whoever may write a Secret would
// act with its rights.
func refused() []string {
	return []string{
		"credential_process", "credential_source", "web_identity_token_file", "role_arn", "source_profile",
		"sso_session", "sso_start_url", "login_session",
	}
}

// An identity is who to be in S3, and where.
type identity struct {
	credentials aws.Credentials
	region      string
	// roots are nil for those of the system.
	roots *x509.CertPool
}

// identityOf reads the Secret's content. No error holds any of it but the names
// of settings.
func identityOf(data map[string][]byte) (*identity, error) {
	id := &identity{region: defaultRegion}
	sections := map[string]string{KeyCredentials: defaultProfile, KeyConfig: defaultProfile}
	for _, key := range []string{KeyConfig, KeyCredentials} {
		file, err := ini.LoadSources(ini.LoadOptions{Loose: false, SkipUnrecognizableLines: false}, data[key])
		if err != nil {
			return nil, failed(BadSecret, "its key %s is not in the format of AWS' own file: begin with [default]", key)
		}
		section := file.Section(sections[key])
		for _, name := range refused() {
			if section.HasKey(name) {
				return nil, failed(BadSecret, "its key %s sets %s, which is not acted on: write aws_access_key_id and aws_secret_access_key", key, name)
			}
		}
		id.region = cmp.Or(section.Key("region").String(), id.region)
		id.credentials.AccessKeyID = cmp.Or(section.Key("aws_access_key_id").String(), id.credentials.AccessKeyID)
		id.credentials.SecretAccessKey = cmp.Or(section.Key("aws_secret_access_key").String(), id.credentials.SecretAccessKey)
		id.credentials.SessionToken = cmp.Or(section.Key("aws_session_token").String(), id.credentials.SessionToken)
	}
	if !id.credentials.HasKeys() {
		return nil, failed(BadSecret, "its key %s holds no aws_access_key_id and aws_secret_access_key in [default]%s", KeyCredentials, found(data))
	}
	if pem, ok := data[KeyCA]; ok {
		id.roots = x509.NewCertPool()
		if !id.roots.AppendCertsFromPEM(pem) {
			return nil, failed(BadSecret, "its key %s holds no certificate in PEM", KeyCA)
		}
	}
	return id, nil
}

// found says which keys there are, where the one that is needed is not.
func found(data map[string][]byte) string {
	if _, ok := data[KeyCredentials]; ok {
		return ""
	}
	var keys []string
	for key := range data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return fmt.Sprintf(": it has %s", cmp.Or(strings.Join(keys, ", "), "no keys"))
}
