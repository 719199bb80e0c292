package transition

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func service() Kind {
	rows := serviceType()
	rows = append(rows, serviceAddresses()...)
	return Kind{
		APIVersion: "v1", Kind: "Service",
		Type:     reflect.TypeFor[corev1.Service](),
		Rows:     append(rows, serviceTraffic()...),
		Defaults: []Default{elseInPlace},
	}
}

func typeOf(m map[string]any) string { return textOr(lookup(m, "spec", "type"), "ClusterIP") }

func external(m *FieldChange) bool {
	return typeOf(m.Old) == "ExternalName" || typeOf(m.New) == "ExternalName"
}

// headless reports whether a Service's manifest has no address.
func headless(m map[string]any) bool {
	ips, _ := lookup(m, "spec", "clusterIPs").([]any)
	return lookup(m, "spec", "clusterIP") == "None" || len(ips) == 1 && ips[0] == "None"
}

// serviceType: a released address or port returns to the pool.
func serviceType() []Row {
	became := func(from, to string) func(*FieldChange) bool {
		return func(m *FieldChange) bool {
			return (from == "" || text(m.From) == from) && (to == "" || text(m.To) == to)
		}
	}
	return []Row{
		{
			ID: "svc-external-name", Paths: []string{"spec.type"}, When: "the type becomes ExternalName",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, applies: became("", "ExternalName"),
			Harm:  "releases the cluster IP and node ports, which another Service may take; clients that still use the address fail",
			Steps: []string{"create a second Service for the external name, move the clients, then delete this one"},
		},
		{
			ID: "svc-from-external-name", Paths: []string{"spec.type"}, When: "the type was ExternalName",
			Outcome: InPlace, applies: became("ExternalName", ""),
			Harm: "the DNS name resolves to a cluster IP instead of a CNAME; clients keep the CNAME until its TTL expires",
		},
		{
			ID: "svc-load-balancer-release", Paths: []string{"spec.type"}, When: "the type was LoadBalancer",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, applies: became("LoadBalancer", ""),
			Harm:  "deletes the load balancer; its address is lost unless it is reserved with the provider",
			Steps: []string{"reserve the address with the provider, or keep a second Service until the clients have moved"},
		},
		{
			ID: "svc-node-port-release", Paths: []string{"spec.type"}, When: "the type was NodePort and becomes ClusterIP",
			Outcome: InPlace, applies: became("NodePort", "ClusterIP"),
			Harm: "closes the node ports; their numbers return to the pool, and come back only if requested by number and still free",
		},
		{
			ID: "svc-headless-exposed", Paths: []string{"spec.type"}, When: "a headless Service becomes NodePort or LoadBalancer",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				return headless(m.Old) && (text(m.To) == "NodePort" || text(m.To) == "LoadBalancer")
			},
			Harm: "clusterIP stays None even if it is removed from the manifest, and such a Service has no address to expose",
			Steps: []string{
				"kubectl -n {namespace} delete service {name} # its clients fail until it is back",
				"kubectl -n {namespace} create -f NEW.yaml # without clusterIP",
			},
		},
		{
			ID: "svc-exposed", Paths: []string{"spec.type"}, When: "the type becomes NodePort or LoadBalancer",
			Outcome: InPlace,
			Harm:    "opens a port on every node to everyone who can reach it",
		},
	}
}

// serviceAddresses are fields that are allocated once.
func serviceAddresses() []Row {
	recreate := []string{
		"kubectl -n {namespace} delete service {name} # its clients fail until it is back",
		"kubectl -n {namespace} create -f NEW.yaml",
	}
	ips := []string{"spec.clusterIP", "spec.clusterIPs"}
	stays := func(m *FieldChange) bool { return !external(m) }
	single := func(m *FieldChange) bool { return text(lookup(m.New, "spec", "ipFamilyPolicy")) == "SingleStack" }
	return []Row{
		{
			ID: "svc-headless-unset", Paths: ips, When: "the manifest no longer sets clusterIP: None",
			Outcome: Recreate, applies: func(m *FieldChange) bool { return stays(m) && m.Unset && headless(m.Old) },
			Harm:  "the API server silently keeps None: the Service stays headless",
			Steps: recreate,
		},
		{
			ID: "svc-cluster-ip-unset", Paths: ips, When: "the manifest no longer sets the cluster IP",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return m.Unset },
			Harm: "the API server keeps the address; nothing changes",
		},
		{
			ID: "svc-cluster-ip-secondary", Paths: []string{"spec.clusterIPs"}, When: "a second cluster IP is added, or removed with ipFamilyPolicy SingleStack",
			Outcome: InPlace,
			applies: func(m *FieldChange) bool {
				from, _ := m.From.([]any)
				to, _ := m.To.([]any)
				return stays(m) && len(from) > 0 && len(to) > 0 && same(from[0], to[0]) &&
					(len(to) > len(from) || len(to) < len(from) && single(m))
			},
			Harm: "another Service may take a released address",
		},
		{
			ID: "svc-cluster-ip", Paths: ips, When: "the cluster IP changes to or from None, or to another address",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant, applies: stays,
			Harm:  "clients and DNS caches still use the old address",
			Steps: recreate,
		},
		{
			ID: "svc-ip-families-unset", Paths: []string{"spec.ipFamilies"}, When: "the manifest no longer sets the IP families",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return m.Unset },
			Harm: "the API server infers them from the addresses; nothing changes",
		},
		{
			ID: "svc-ip-families-order", Paths: []string{"spec.ipFamilies"}, When: "the first IP family of a Service with an address changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				from, _ := m.From.([]any)
				to, _ := m.To.([]any)
				return stays(m) && !headless(m.Old) && len(from) > 0 && len(to) > 0 && !same(from[0], to[0])
			},
			Harm:  "the first family is that of the address that clients use",
			Steps: recreate,
		},
		{
			ID: "svc-ip-families-drop", Paths: []string{"spec.ipFamilies"}, When: "the second IP family is removed without ipFamilyPolicy SingleStack",
			Outcome: InSteps, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				from, _ := m.From.([]any)
				to, _ := m.To.([]any)
				return stays(m) && len(to) < len(from) && !single(m)
			},
			Harm:  "the API server releases an address only on explicit request",
			Steps: []string{"write ipFamilyPolicy: SingleStack along with the one family", replaceAtOnce},
		},
		{
			ID: "svc-ip-family-policy-single", Paths: []string{"spec.ipFamilyPolicy"}, When: "the policy becomes SingleStack",
			Outcome: InPlace, applies: to("SingleStack"),
			Harm: "releases the second cluster IP, which another Service may take",
		},
		{
			ID: "svc-load-balancer-class", Paths: []string{"spec.loadBalancerClass"}, When: "the class of a LoadBalancer changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool { return typeOf(m.Old) == "LoadBalancer" && typeOf(m.New) == "LoadBalancer" },
			Harm:    "two controllers would claim one load balancer; its address is lost unless reserved",
			Steps:   recreate,
		},
		{
			ID: "svc-health-check-node-port", Paths: []string{"spec.healthCheckNodePort"}, When: "the health check's node port changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool { return !m.Unset && checked(m.Old) && checked(m.New) },
			Harm:    "load balancers still check the old port",
			Steps:   recreate,
		},
	}
}

// checked reports whether load balancers check the Service's nodes.
func checked(m map[string]any) bool {
	return typeOf(m) == "LoadBalancer" && text(lookup(m, "spec", "externalTrafficPolicy")) == "Local"
}

// serviceTraffic are changes that take effect at once, everywhere.
func serviceTraffic() []Row {
	emptied := func(m *FieldChange) bool {
		selector, _ := lookup(m.New, "spec", "selector").(map[string]any)
		return len(selector) == 0
	}
	return []Row{
		{
			ID: "svc-selector-removed", Paths: []string{"spec.selector"}, When: "the selector is removed",
			Outcome: InPlace, applies: emptied,
			Harm: "the endpoints stay as they are and no longer follow the pods",
		},
		{
			ID: "svc-selector", Paths: []string{"spec.selector"}, When: "the selector changes",
			Outcome: InPlace,
			Harm:    "all traffic moves at once to the newly selected pods, or fails if none match",
		},
		{
			ID: "svc-node-port", Paths: []string{"spec.ports[*].nodePort"}, When: "a node port changes",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return !m.Unset && m.From != nil },
			Harm: "clients and load balancers that use the old number fail",
		},
		{
			ID: "svc-ports", Paths: []string{"spec.ports[*].port", "spec.ports[*].protocol", "spec.ports[*].targetPort"}, When: "a port changes",
			Outcome: InPlace,
			Harm:    "clients of the old port, or pods that do not listen on the new one, fail at once",
		},
		{
			ID: "svc-port-removed", Paths: []string{"spec.ports[*]"}, When: "a port is removed",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return m.To == nil && m.From != nil && isObject(m.From) },
			Harm: "clients of the port fail at once; its node port returns to the pool",
		},
		{
			ID: "svc-session-affinity", Paths: []string{"spec.sessionAffinity"}, When: "session affinity changes",
			Outcome: InPlace,
			Harm:    "new connections of a client may reach another pod than before",
		},
		{
			ID: "svc-external-traffic-local", Paths: []string{"spec.externalTrafficPolicy"}, When: "the policy becomes Local",
			Outcome: InPlace, applies: to("Local"),
			Harm: "nodes without a ready pod drop outside traffic",
		},
		{
			ID: "svc-internal-traffic-local", Paths: []string{"spec.internalTrafficPolicy"}, When: "the policy becomes Local",
			Outcome: InPlace, applies: to("Local"),
			Harm: "pods on nodes without a ready pod of the Service cannot reach it",
		},
		{
			ID: "svc-allocate-node-ports", Paths: []string{"spec.allocateLoadBalancerNodePorts"}, When: "the allocation of node ports is disabled",
			Outcome: InSteps, applies: ceased,
			Harm:  "allocated node ports stay open",
			Steps: []string{replaceAtOnce, "kubectl -n {namespace} patch service {name} --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/ports/0/nodePort\"}]' # each port"},
		},
	}
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}
