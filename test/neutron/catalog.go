package neutron

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// A catalog is Keystone's, with an administrator's rights.
type catalog struct {
	admin    gophercloud.AuthOptions
	identity *gophercloud.ServiceClient
	service  string // Neutron's id
	member   string // the role of users
}

func newCatalog(ctx context.Context, authURL, password string) (*catalog, error) {
	admin := gophercloud.AuthOptions{IdentityEndpoint: authURL, Username: "admin", Password: password, DomainID: "default", TenantName: "admin"}
	provider, err := openstack.AuthenticatedClient(ctx, admin)
	if err != nil {
		return nil, err
	}
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: Region})
	if err != nil {
		return nil, err
	}
	service, err := services.Create(ctx, identity, services.CreateOpts{Type: "network", Extra: map[string]any{"name": "neutron"}}).Extract()
	if err != nil {
		return nil, err
	}
	pages, err := roles.List(identity, roles.ListOpts{Name: "member"}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d roles are named member, want one", len(found))
	}
	return &catalog{admin: admin, identity: identity, service: service.ID, member: found[0].ID}, nil
}

// AddRegion lets clients in that region find Neutron at the URL, which may be
// that of a proxy.
func (n *Neutron) AddRegion(ctx context.Context, name, url string) error {
	if err := n.catalog.addRegion(ctx, name, url); err != nil {
		return fmt.Errorf("adding the region %s to Keystone's catalog: %w", name, err)
	}
	return nil
}

func (c *catalog) addRegion(ctx context.Context, name, url string) error {
	return endpoints.Create(ctx, c.identity, endpoints.CreateOpts{
		Availability: gophercloud.AvailabilityPublic, Name: "neutron", Region: name, URL: url, ServiceID: c.service,
	}).Err
}

// A Project is one of Keystone's projects, with a user who is a member.
type Project struct {
	ID, Name, Password string

	user    string // its ID
	neutron *Neutron
}

// AddProject creates a project of that name and a user with the same name.
func (n *Neutron) AddProject(ctx context.Context, name string) (*Project, error) {
	p := &Project{Name: name, Password: rand.Text(), neutron: n}
	if err := p.create(ctx, n.catalog); err != nil {
		return nil, fmt.Errorf("making the project %s: %w", name, err)
	}
	return p, nil
}

func (p *Project) create(ctx context.Context, c *catalog) error {
	project, err := projects.Create(ctx, c.identity, projects.CreateOpts{Name: p.Name, DomainID: "default"}).Extract()
	if err != nil {
		return err
	}
	p.ID = project.ID
	user, err := users.Create(ctx, c.identity, users.CreateOpts{Name: p.Name, Password: p.Password, DomainID: "default"}).Extract()
	if err != nil {
		return err
	}
	p.user = user.ID
	return roles.Assign(ctx, c.identity, c.member, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr()
}

// ChangePassword changes the user's password, so that Keystone revokes earlier
// tokens. Tokens only have the second of their creation, so new ones are also
// invalid during the second of the change: the method returns afterwards.
func (p *Project) ChangePassword(ctx context.Context) error {
	password := rand.Text()
	if err := users.Update(ctx, p.neutron.catalog.identity, p.user, users.UpdateOpts{Password: password}).Err; err != nil {
		return fmt.Errorf("changing the password of %s: %w", p.Name, err)
	}
	p.Password = password
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		client, err := p.Client(ctx)
		if err != nil {
			return false, err
		}
		return tokens.Validate(ctx, p.neutron.catalog.identity, client.Token())
	})
	if err != nil {
		return fmt.Errorf("waiting until Keystone takes the new password of %s: %w", p.Name, err)
	}
	return nil
}

// CloudsYAML returns a clouds.yaml with that cloud, for the project's user,
// that Keystone and that region.
func (p *Project) CloudsYAML(cloud, authURL, region string) []byte {
	type object = map[string]any
	data, err := yaml.Marshal(object{"clouds": object{cloud: object{
		"region_name": region,
		"auth": object{
			"auth_url": authURL, "username": p.Name, "password": p.Password, "project_name": p.Name,
			"user_domain_name": "Default", "project_domain_name": "Default",
		},
	}}})
	if err != nil {
		panic(err) // of strings
	}
	return bytes.TrimSpace(data)
}

// Client connects the project's user to Neutron.
func (p *Project) Client(ctx context.Context) (*gophercloud.ServiceClient, error) {
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: p.neutron.AuthURL, Username: p.Name, Password: p.Password, DomainID: "default", TenantName: p.Name,
	})
	if err != nil {
		return nil, err
	}
	return openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: Region})
}

// LimitNetworks sets the maximum number of networks in the project, -1 for
// unlimited.
func (p *Project) LimitNetworks(ctx context.Context, networks int) error {
	// A token contains the catalog at the time of its creation.
	provider, err := openstack.AuthenticatedClient(ctx, p.neutron.catalog.admin)
	if err != nil {
		return err
	}
	admin, err := openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: Region})
	if err != nil {
		return err
	}
	return quotas.Update(ctx, admin, p.ID, quotas.UpdateOpts{Network: &networks}).Err
}
