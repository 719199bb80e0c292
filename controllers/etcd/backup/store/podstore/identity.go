package podstore

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
)

// The variables that a cloud's webhook sets in a pod. Others of AWS' SDK, such as
// AWS_ACCESS_KEY_ID, have no effect.
const (
	envRole, envRoleToken = "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"
	envAgent, envAgentKey = "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	envRegion, envDefault = "AWS_REGION", "AWS_DEFAULT_REGION"
	// envSTS is the URL of a token service other than AWS'.
	envSTS = "AWS_ENDPOINT_URL_STS"
)

// agentWithin is how long the agent on the node may take to answer.
const agentWithin = 10 * time.Second

// session names the pod in the cloud's records.
const session = "usher-backup"

// errNoIdentity says what to do if no webhook has set the variables.
var errNoIdentity = fmt.Errorf("this pod has no identity in the cloud, because its ServiceAccount has none: neither %s and %s nor %s and %s are set. Annotate the ServiceAccount with its role (eks.amazonaws.com/role-arn), or associate a role with it (EKS Pod Identity)",
	envRole, envRoleToken, envAgent, envAgentKey)

// An identity is that of the pod in the cloud.
type identity struct {
	credentials aws.CredentialsProvider
	// region is that of the cluster, or "".
	region string
}

// identityOf returns the identity that a cloud's webhook gave the pod.
func identityOf(env func(string) string) (*identity, error) {
	id := &identity{region: cmp.Or(env(envRegion), env(envDefault))}
	var provider aws.CredentialsProvider
	switch {
	case env(envRole) != "" && env(envRoleToken) != "":
		provider = ofToken(env, cmp.Or(id.region, defaultRegion))
	case env(envAgent) != "" && env(envAgentKey) != "":
		var err error
		if provider, err = ofAgent(env(envAgent), env(envAgentKey)); err != nil {
			return nil, err
		}
	default:
		return nil, errNoIdentity
	}
	id.credentials = aws.NewCredentialsCache(&explained{provider})
	return id, nil
}

// ofToken exchanges the pod's token at the token service (IRSA).
func ofToken(env func(string) string, region string) aws.CredentialsProvider {
	o := sts.Options{Region: region, HTTPClient: bucket.HTTPClient(nil, dial, http.ProxyFromEnvironment)}
	if at := env(envSTS); at != "" {
		o.BaseEndpoint = &at
	}
	return stscreds.NewWebIdentityRoleProvider(sts.New(o), env(envRole), stscreds.IdentityTokenFile(env(envRoleToken)), func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName = session
	})
}

// agents are the addresses of the agents of ECS and EKS.
var agents = []netip.Addr{netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::23")}

// ofAgent asks the agent on the node (EKS Pod Identity).
func ofAgent(at, keyFile string) (aws.CredentialsProvider, error) {
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is not a URL", envAgent)
	}
	if host, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && (err != nil || !host.IsLoopback() && !slices.Contains(agents, host)) {
		return nil, fmt.Errorf("%s is http to %s: it must be https, or the address of the agent of ECS or EKS", envAgent, u.Hostname())
	}
	return endpointcreds.New(at, func(o *endpointcreds.Options) {
		// The agent is on the node, whatever proxy leads elsewhere.
		o.HTTPClient = &http.Client{Timeout: agentWithin, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
			key, err := os.ReadFile(keyFile)
			if err == nil && len(strings.TrimSpace(string(key))) == 0 {
				err = errors.New("the file " + keyFile + " is empty")
			}
			return strings.TrimSpace(string(key)), err
		})
	}), nil
}
