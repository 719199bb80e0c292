package prometheus_test

import "time"

// A cause breaks an installation.
type cause struct {
	name string
	// fires are the alerts that it fires, and no others.
	fires []string
	// after so much time, following so many healthy minutes, if more than a few:
	// some alerts look back.
	after   time.Duration
	healthy int
	// breaks changes the healthy state, so many minutes after the cause began.
	breaks func(s *state, minute int)
	// controller says that it breaks the controller, which not every installation
	// has.
	controller bool
	// cluster says that the alert does not know the installation.
	cluster bool
}

const minute = time.Minute

// set returns a cause that gives series of the webhook's replicas a value.
func set(values series) func(*state, int) {
	return func(s *state, _ int) {
		for _, replica := range s.webhooks {
			for name, value := range values {
				replica[name] = value
			}
		}
	}
}

// grow returns one that makes a counter grow each minute.
func grow(counter string, each float64) func(*state, int) {
	return func(s *state, m int) { s.webhooks[0][counter] = each * float64(m+1) }
}

// controls is set for the controller.
func controls(values series) func(*state, int) {
	return func(s *state, _ int) {
		for name, value := range values {
			s.controller[name] = value
		}
	}
}

// slows stops counting writes of a member in a bucket.
func slows(bucket string) func(*state, int) {
	return func(s *state, m int) { s.members["shop"][bucket] -= float64(60 * (m + 1)) }
}

// fails makes calls of the API server fail, and another cause break usher.
func fails(counter string, breaks func(*state, int)) func(*state, int) {
	return func(s *state, m int) {
		s.apiServer[counter] = float64(m + 1)
		if breaks != nil {
			breaks(s, m)
		}
	}
}

func down(s *state, _ int) {
	for i := range s.webhooks {
		s.webhooks[i] = nil
	}
}

const (
	open    = `apiserver_admission_webhook_fail_open_count{name="annotated-pods.inject.usher.dev",type="admit"}`
	refused = `apiserver_admission_webhook_rejection_count{name="enforced.policy.usher.dev",type="validating",operation="CREATE",error_type="calling_webhook_error",rejection_code="0"}`
	faults  = `usher_faults_total{path="/mutate"}`
)

var causes = []cause{
	{name: "both replicas are down", fires: []string{"UsherDown"}, after: 6 * minute, breaks: down},
	{name: "one replica is down", fires: []string{"UsherNotRedundant"}, after: 17 * minute, breaks: func(s *state, _ int) { s.webhooks[1] = nil }},
	{name: "faults", fires: []string{"UsherFaults"}, after: 8 * minute, breaks: grow(faults, 6)},
	{name: "a panic", fires: []string{"UsherPanics"}, after: 2 * minute, breaks: set(series{"usher_panics_total": 1})},
	{name: "too many requests", fires: []string{"UsherThrottles"}, after: 13 * minute, breaks: grow(`usher_throttled_total{path="/mutate"}`, 1)},
	{name: "slow answers", fires: []string{"UsherSlow"}, after: 18 * minute, breaks: func(s *state, m int) {
		for _, replica := range s.webhooks {
			for _, le := range []string{"0.128", "1.024"} {
				replica[`usher_request_duration_seconds_bucket{path="/mutate",le="`+le+`"}`] -= float64(60 * (m + 1))
			}
		}
	}},
	{name: "requests of a stranger", fires: []string{"UsherMalformedRequests"}, after: 20 * minute, breaks: grow(`usher_malformed_requests_total{path="/mutate"}`, 12)},
	{name: "too many connections", fires: []string{"UsherConnectionsClosed"}, after: 12 * minute, breaks: grow(`usher_connections_closed_total{server="webhook",cause="idle"}`, 1)},
	{name: "an invalid template", fires: []string{"UsherTemplateInvalid"}, after: 7 * minute, breaks: set(series{`usher_template_valid{template="side"}`: 0})},
	{name: "an invalid configuration", fires: []string{"UsherConfigurationInvalid"}, after: 7 * minute, breaks: set(series{"usher_configuration_valid": 0})},
	{name: "a template that is not there", fires: []string{"UsherTemplateMissing"}, after: 2 * minute, healthy: 16, breaks: set(series{`usher_decisions_total{path="/mutate",reason="template-missing",allowed="false"}`: 1})},
	{name: "a replica that is left behind", fires: []string{"UsherReplicasDisagree"}, after: 12 * minute, breaks: func(s *state, _ int) {
		for name := range s.webhooks[1] {
			if name == `usher_template_info{template="side",version="1"}` || name == `usher_template_info{template="side",version="2"}` {
				delete(s.webhooks[1], name)
			}
		}
		s.webhooks[1][`usher_template_info{template="side",version="0"}`] = 1
	}},
	{name: "a certificate that is not renewed", fires: []string{"UsherCertificateExpires"}, after: 62 * minute, breaks: set(series{`usher_certificate_expiry_seconds{what="serving"}`: 86400})},
	{name: "no registration", fires: []string{"UsherNotRegistered"}, after: 7 * minute, breaks: set(series{"usher_registration_current": 0})},
	{name: "a limit that is too small", fires: []string{"UsherMemoryNearLimit"}, after: 12 * minute, breaks: set(series{"go_memstats_sys_bytes": 105})},
	{name: "a port that is blocked", fires: []string{"UsherFailsOpen", "UsherUnreachable"}, after: 8 * minute, healthy: 11, cluster: true, breaks: fails(open, nil)},
	{name: "a port that is blocked, with the failurePolicy Fail", fires: []string{"UsherUnreachable"}, after: 8 * minute, healthy: 11, cluster: true, breaks: fails(refused, nil)},
	// Failed calls of an installation that is down, or has faults, do not mean that
	// the API server cannot reach another.
	{name: "failed calls because both replicas are down", fires: []string{"UsherDown"}, after: 20 * minute, breaks: fails(refused, down)},
	{name: "failed calls because of faults", fires: []string{"UsherFaults"}, after: 20 * minute, breaks: fails(refused, grow(faults, 6))},

	{name: "a controller that is gone", fires: []string{"UsherControllerDown"}, after: 12 * minute, controller: true, breaks: func(s *state, _ int) { s.controller = nil }},
	{name: "a controller without the Lease", fires: []string{"UsherControllerNoLeader"}, after: 7 * minute, controller: true, breaks: controls(series{`leader_election_master_status{name="usher-controller"}`: 0})},
	{name: "pods without their template", fires: []string{"UsherPodsLackTemplate"}, after: 17 * minute, controller: true, breaks: controls(series{`usher_pods{template="side",state="missing"}`: 2})},
	{name: "a lost quorum", fires: []string{"UsherEtcdQuorumLost"}, after: 8 * minute, controller: true, breaks: controls(series{object("usher_etcdcluster_quorum_lost", "shop"): 1, object("usher_etcdcluster_available", "shop"): 0})},
	{name: "a cluster that accepts no writes", fires: []string{"UsherEtcdUnavailable"}, after: 7 * minute, controller: true, breaks: controls(series{object("usher_etcdcluster_available", "shop"): 0})},
	{name: "a cluster that hibernates", after: 20 * minute, controller: true, breaks: controls(series{object("usher_etcdcluster_hibernated", "shop"): 1, object("usher_etcdcluster_available", "shop"): 0})},
	{name: "a full database", fires: []string{"UsherEtcdNoSpace"}, after: 12 * minute, controller: true, breaks: controls(series{alarm("NOSPACE", "shop"): 1, database("size", "shop"): quota, object("usher_etcdcluster_available", "shop"): 0})},
	{name: "corrupt data", fires: []string{"UsherEtcdCorrupt"}, after: 8 * minute, controller: true, breaks: controls(series{alarm("CORRUPT", "shop"): 1, object("usher_etcdcluster_available", "shop"): 0})},
	{name: "a cluster that needs a person", fires: []string{"UsherEtcdStalled"}, after: 17 * minute, controller: true, breaks: controls(series{object("usher_etcdcluster_stalled", "shop"): 1})},
	{name: "claims of removed members", fires: []string{"UsherEtcdClaimsSetAside"}, after: 62 * minute, controller: true, breaks: controls(series{object("usher_etcdcluster_claims_set_aside", "shop"): 2})},
	{name: "a database near its quota", fires: []string{"UsherEtcdDatabaseNearQuota"}, after: 12 * minute, controller: true, breaks: controls(series{database("size", "shop"): 0.9 * quota})},
	{name: "a database near its quota, as only its member says", fires: []string{"UsherEtcdDatabaseNearQuota"}, after: 12 * minute, controller: true, breaks: func(s *state, _ int) {
		delete(s.controller, database("quota", "shop"))
		s.members["shop"]["etcd_mvcc_db_total_size_in_bytes"] = 0.9 * quota
	}},
	{name: "slow writes to the log", fires: []string{"UsherEtcdDiskSlow"}, after: 18 * minute, controller: true, breaks: slows(`etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}`)},
	{name: "slow commits", fires: []string{"UsherEtcdDiskSlow"}, after: 18 * minute, controller: true, breaks: slows(`etcd_disk_backend_commit_duration_seconds_bucket{le="0.008"}`)},
	{name: "elections", fires: []string{"UsherEtcdLeaderChanges"}, after: 8 * minute, controller: true, breaks: func(s *state, m int) {
		s.members["shop"]["etcd_server_leader_changes_seen_total"] = float64(2 + m)
	}},
	{name: "backups that stopped", fires: []string{"UsherEtcdBackupOld"}, after: 10 * minute, controller: true, breaks: controls(series{object("usher_etcdbackup_last_success_timestamp_seconds", "shop"): seconds(-131)})},
	{name: "backups that fail", fires: []string{"UsherEtcdBackupFails"}, after: 32 * minute, controller: true, breaks: controls(series{object("usher_etcdbackup_succeeded", "shop"): 0})},
	{name: "a Network that is not ready", fires: []string{"UsherNetworkNotReady"}, after: 32 * minute, controller: true, breaks: controls(series{object("usher_network_ready", "shop"): 0})},
	{name: "a backend that does not answer", fires: []string{"UsherNetworkBackendFails"}, after: 33 * minute, controller: true, breaks: func(s *state, m int) {
		s.controller[`usher_network_backend_calls_total{backend="multus",call="ensure",result="success"}`] = 20
		s.controller[`usher_network_backend_calls_total{backend="multus",call="ensure",result="BackendUnavailable"}`] = float64(m)
	}},
	{name: "orphaned networks", fires: []string{"UsherNetworkOrphans"}, after: 62 * minute, controller: true, breaks: controls(series{"usher_network_orphans": 1})},
}
