package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/cmd/internal/publicca"
	"github.com/usher-dev/usher/cmd/internal/server"
	"github.com/usher-dev/usher/controllers"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/healing"
	"github.com/usher-dev/usher/controllers/network/multus"
	"github.com/usher-dev/usher/controllers/network/neutron"
)

func newCommand() *cobra.Command {
	var o controllers.Options
	var connect cli.Connection
	var logs server.Logging
	cmd := &cobra.Command{
		Use:   "usher-controller",
		Short: "Run the controllers of usher's custom resources",
		Long: `Run the controllers of usher's custom resources and of the features that
namespaces enable by label.

In a cluster only one replica at a time is active, the one that holds the Lease
"` + controllers.LeaseName + `". The webhook does not depend on it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return cli.Exit(cli.Usage, err)
			}
			log, err := logs.Logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			config, err := connect.Config()
			if err != nil {
				return err
			}
			o.Log = log
			publicca.Trust() // object stores' and clouds' certificates
			if ready, err := server.Start(cmd.Context(), "controller", o.HealthAddress, config, log); !ready {
				return err
			}
			if err := controllers.Run(cmd.Context(), config, o); err != nil {
				return cli.Exit(cli.Failed, fmt.Errorf("running the controllers: %w", err))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", cli.Namespace, "usher's own namespace, which contains the Lease")
	f.StringSliceVar(&o.Controllers, "controllers", nil, "controllers to run: "+strings.Join(controllers.Names(), ", ")+" (default all)")
	f.BoolVar(&o.LeaderElection, "leader-elect", true, "run the controllers only while holding the Lease; disable it only if there is never more than one replica")
	f.StringVar(&o.Network.Backend, "network-backend", multus.Name, "backend of Networks: "+strings.Join(controllers.Backends(), ", "))
	f.IntVar(&o.Network.MTU, "network-mtu", 0, "MTU of the interfaces of Networks; 0 for the kernel's default")
	f.DurationVar(&o.Network.Resync, "network-resync", controllers.DefaultResync, "how often to poll a backend without watches, which is neutron, for changes")
	f.StringVar(&o.Network.CloudsFile, "neutron-clouds-file", "", "clouds.yaml with Neutron's credentials, read again when it changes (default: the environment's OS_*)")
	f.StringVar(&o.Network.Cloud, "neutron-cloud", "", "cloud of --neutron-clouds-file to use")
	f.Float64Var(&o.Network.RequestsPerSecond, "neutron-requests-per-second", neutron.DefaultRequestsPerSecond, "maximum rate of requests to Neutron and Keystone; checking a Network takes three")
	f.BoolVar(&o.Network.RemoveOrphans, "network-remove-orphans", false, "delete orphaned networks at startup (default: log them)")
	f.StringVar(&o.HealthAddress, "health-address", ":8081", `address of /healthz and /readyz, "0" for none`)
	f.StringVar(&o.MetricsAddress, "metrics-address", ":8080", `address of /metrics, "0" for none`)
	f.DurationVar(&o.EtcdCluster.Settling, "etcd-member-timeout", etcdcluster.DefaultSettling, "how long a member of an EtcdCluster may be down before it is replaced, provided that the others have a quorum")
	f.DurationVar(&o.EtcdCluster.ClaimGrace, "etcd-claim-grace", member.DefaultClaimGrace, "how long to keep the claims of removed members of an EtcdCluster before deleting them")
	f.StringSliceVar(&o.EtcdBackupEndpoints, "etcd-backup-endpoints", nil, "etcd hosts in other namespaces or outside the cluster that EtcdBackups may read: HOST, *.DOMAIN or either with :PORT")
	f.StringSliceVar(&o.StoreEndpoints, "store-endpoints", nil, "object stores at addresses that EtcdBackups and EtcdRestores may not use otherwise (private, in other namespaces): HOST:PORT, *.DOMAIN:PORT, ADDRESS:PORT or CIDR:PORT, * for every port")
	f.BoolVar(&o.StoreProxy, "store-proxy-from-environment", false, "connect to stores through the proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY; only to those that --store-endpoints names")
	f.StringVar(&o.PodServer.Address, "snapshot-address", ":8443", "address to serve the pods of backups and restores on")
	f.StringVar(&o.PodServer.Host, "snapshot-host", os.Getenv("POD_IP"), "host by which those pods reach this one (default: $POD_IP)")
	f.StringVar(&o.PodServer.Image, "snapshot-image", "", "image of those pods: usher's image for pods, or its main image (default: the image of this pod)")
	f.StringVar(&o.Healing.ConfigurationName, "configuration-name", wellknown.DefaultConfigurationName, "name of the installation's webhook configurations, which say which namespaces it serves")
	f.StringVar(&o.Healing.Deployment, "heal-deployment", "usher-webhook", "the webhook's Deployment in usher's namespace, whose status shows the end of an outage")
	f.DurationVar(&o.Healing.Interval, "heal-interval", healing.DefaultInterval, "how often to count the pods that lack their templates")
	f.DurationVar(&o.Healing.Rate, "heal-rate", healing.DefaultRate, "interval between restarts of workloads whose pods lack a template")
	f.StringSliceVar(&o.PullSecrets, "image-pull-secrets", nil, "imagePullSecrets of the pods that usher creates, which must exist in the namespaces of these pods")
	connect.Register(f)
	logs.Register(f)
	return cmd
}
