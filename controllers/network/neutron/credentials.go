package neutron

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	yamlv2 "gopkg.in/yaml.v2"
	"sigs.k8s.io/yaml"
)

// A source is the location of the credentials.
type source struct{ file, cloud string }

// environmentCloud is the name of the environment's cloud in the generated
// document.
const environmentCloud = "environment"

// credentials are the settings of a client. They are never printed.
type credentials struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

// read returns the current document with the credentials, validated.
func (s source) read() ([]byte, error) {
	data, err := s.document()
	if err != nil {
		return nil, err
	}
	_, err = s.parse(data)
	return data, err
}

// document returns a clouds.yaml: the file, or the environment converted to
// one, so that both have the same meaning.
func (s source) document() ([]byte, error) {
	if s.file != "" {
		data, err := os.ReadFile(s.file)
		if err != nil {
			return nil, fmt.Errorf("reading the credentials: %w", err)
		}
		return data, nil
	}
	if os.Getenv("OS_AUTH_URL") == "" {
		return nil, errors.New("no credentials: set --neutron-clouds-file and --neutron-cloud, or OS_AUTH_URL and the other variables OS_*")
	}
	return yaml.Marshal(clouds.Clouds{Clouds: map[string]clouds.Cloud{environmentCloud: fromEnvironment()}})
}

func fromEnvironment() clouds.Cloud {
	return clouds.Cloud{
		RegionName: os.Getenv("OS_REGION_NAME"),
		Interface:  os.Getenv("OS_INTERFACE"),
		AuthInfo: &clouds.AuthInfo{
			AuthURL:                     os.Getenv("OS_AUTH_URL"),
			Username:                    os.Getenv("OS_USERNAME"),
			UserID:                      os.Getenv("OS_USER_ID"),
			Password:                    os.Getenv("OS_PASSWORD"),
			ApplicationCredentialID:     os.Getenv("OS_APPLICATION_CREDENTIAL_ID"),
			ApplicationCredentialName:   os.Getenv("OS_APPLICATION_CREDENTIAL_NAME"),
			ApplicationCredentialSecret: os.Getenv("OS_APPLICATION_CREDENTIAL_SECRET"),
			ProjectName:                 os.Getenv("OS_PROJECT_NAME"),
			ProjectID:                   os.Getenv("OS_PROJECT_ID"),
			UserDomainName:              os.Getenv("OS_USER_DOMAIN_NAME"),
			UserDomainID:                os.Getenv("OS_USER_DOMAIN_ID"),
			ProjectDomainName:           os.Getenv("OS_PROJECT_DOMAIN_NAME"),
			ProjectDomainID:             os.Getenv("OS_PROJECT_DOMAIN_ID"),
		},
	}
}

// parse parses a clouds.yaml. Its errors quote nothing from it.
func (s source) parse(data []byte) (*credentials, error) {
	name, where := environmentCloud, "the environment"
	if s.file != "" {
		name, where = s.cloud, s.file
	}
	var all clouds.Clouds
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s is not a valid clouds.yaml: write a file that `openstack --os-cloud %s token issue` accepts", where, name)
	}
	cloud, ok := all.Clouds[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s has no cloud %q among its clouds", where, name)
	case cloud.AuthInfo == nil:
		return nil, fmt.Errorf("%s: the cloud %q has no auth: write auth_url and the credentials", where, name)
	case cloud.AuthInfo.AuthURL == "":
		return nil, fmt.Errorf("%s: the cloud %q has no auth.auth_url", where, name)
	}
	auth, endpoint, tlsConfig, err := clouds.Parse(clouds.WithCloudsYAML(bytes.NewReader(data)), clouds.WithCloudName(name))
	if _, quotes := errors.AsType[*yamlv2.TypeError](err); quotes {
		return nil, fmt.Errorf("%s: the cloud %q has a value of the wrong type", where, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	auth.AllowReauth = true
	return &credentials{auth: auth, endpoint: endpoint, tls: tlsConfig}, nil
}
