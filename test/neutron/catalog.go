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

// A catalog is Keystone's, by its administrator.
type catalog struct {
	admin    gophercloud.AuthOptions
	identity *gophercloud.ServiceClient
	service  string // Neutron's id
	member   string // the role of those who use it
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

// AddRegion lets clients of that region find Neutron at the URL: what stands
// there may be between them.
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

// A Project is one of Keystone's, with a user who may do in it what a member
// may.
type Project struct {
	ID, Name, Password string

	user    string // its id
	neutron *Neutron
}

// AddProject makes a project of that name and a user named like it.
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

// ChangePassword gives the user another; Keystone takes the tokens back that
// the old one gave. Its tokens know the second of their making alone, so those
// of the new one are refused, too, while the second of the change lasts: the
// method returns when they are not.
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

// CloudsYAML is what the project's user writes into clouds.yaml as that cloud,
// to sign in at that Keystone and to be in that region.
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

// LimitNetworks sets how many networks the project may have, -1 for any number.
func (p *Project) LimitNetworks(ctx context.Context, networks int) error {
	// A token has the catalog as it was when it was given.
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
