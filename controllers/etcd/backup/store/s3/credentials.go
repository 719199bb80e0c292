package s3

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"gopkg.in/ini.v1"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// Keys of the Secret that an S3Source names.
const (
	// KeyCredentials and KeyConfig are files of the AWS CLI, with the profile
	// default.
	KeyCredentials = "credentials"
	KeyConfig      = "config"
	// KeyCA may contain the CA certificates of the endpoint, in PEM.
	KeyCA = "ca.crt"
)

const (
	defaultProfile = "default"
	defaultRegion  = "us-east-1"
)

// refused are settings that would make this process run a program, read its own
// token or ask its machine for an identity: whoever may write a Secret would
// act with its rights.
func refused() []string {
	return []string{
		"credential_process", "credential_source", "web_identity_token_file", "role_arn", "source_profile",
		"sso_session", "sso_start_url", "login_session",
	}
}

// An identity is the credentials and the region for S3.
type identity struct {
	credentials aws.Credentials
	region      string
	// roots are nil for the system's roots.
	roots *x509.CertPool
}

// identityOf parses the Secret's content. Errors only contain the names of
// settings.
func identityOf(data map[string][]byte) (*identity, error) {
	id := &identity{region: defaultRegion}
	sections := map[string]string{KeyCredentials: defaultProfile, KeyConfig: defaultProfile}
	for _, key := range []string{KeyConfig, KeyCredentials} {
		file, err := ini.LoadSources(ini.LoadOptions{Loose: false, SkipUnrecognizableLines: false}, data[key])
		if err != nil {
			return nil, store.Errorf(store.BadSecret, "its key %s is not in the format of the AWS CLI: begin with [default]", key)
		}
		section := file.Section(sections[key])
		for _, name := range refused() {
			if section.HasKey(name) {
				return nil, store.Errorf(store.BadSecret, "its key %s sets %s, which usher does not support: write aws_access_key_id and aws_secret_access_key", key, name)
			}
		}
		id.region = cmp.Or(section.Key("region").String(), id.region)
		id.credentials.AccessKeyID = cmp.Or(section.Key("aws_access_key_id").String(), id.credentials.AccessKeyID)
		id.credentials.SecretAccessKey = cmp.Or(section.Key("aws_secret_access_key").String(), id.credentials.SecretAccessKey)
		id.credentials.SessionToken = cmp.Or(section.Key("aws_session_token").String(), id.credentials.SessionToken)
	}
	if !id.credentials.HasKeys() {
		return nil, store.Errorf(store.BadSecret, "its key %s holds no aws_access_key_id and aws_secret_access_key in [default]%s", KeyCredentials, found(data))
	}
	if pem, ok := data[KeyCA]; ok {
		id.roots = x509.NewCertPool()
		if !id.roots.AppendCertsFromPEM(pem) {
			return nil, store.Errorf(store.BadSecret, "its key %s contains no certificate in PEM", KeyCA)
		}
	}
	return id, nil
}

// found lists the existing keys, if a required one is missing.
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
