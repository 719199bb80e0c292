package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/test/prometheus"
)

// Series are the samples of a process, by their names and labels.
type series map[string]float64

// An installation of usher in a cluster, as Prometheus sees it.
type installation struct {
	cluster, namespace string
	replicas           int
	controller         bool
	// version is that of its template.
	version string
}

// A state is what every process answers at a time: nil if it does not.
type state struct {
	webhooks   []series
	controller series
	apiServer  series
	// members are those of the etcd cluster "main" in each namespace.
	members map[string]series
}

// healthy is the state of an installation that has run for so many minutes.
func (i installation) healthy(minute int) state {
	s := state{apiServer: calls(minute)}
	for replica := range i.replicas {
		s.webhooks = append(s.webhooks, i.webhook(minute, replica == 0))
	}
	if i.controller {
		s.controller = controller(minute)
		s.members = map[string]series{"shop": member(minute), "stage": member(minute)}
	}
	return s
}

// webhook is a replica. One of them holds the Lease.
func (i installation) webhook(minute int, holder bool) series {
	requests := float64(60 * minute)
	s := series{
		`usher_build_info{component="webhook",goversion="go1",version="v1"}`: 1,
		`usher_requests_in_flight`: 0,
		`usher_request_duration_seconds_bucket{path="/mutate",le="0.128"}`:               requests,
		`usher_request_duration_seconds_bucket{path="/mutate",le="1.024"}`:               requests,
		`usher_request_duration_seconds_bucket{path="/mutate",le="4.096"}`:               requests,
		`usher_request_duration_seconds_bucket{path="/mutate",le="+Inf"}`:                requests,
		`usher_request_duration_seconds_count{path="/mutate"}`:                           requests,
		`usher_decisions_total{path="/mutate",reason="injected",allowed="true"}`:         requests,
		`usher_decisions_total{path="/validate",reason="rule-enforced",allowed="false"}`: requests,
		`usher_injections_total{template="side"}`:                                        requests,
		`usher_findings_total{rule="no-limit"}`:                                          requests,
		`usher_panics_total`:                                                             0,
		`usher_connections{server="webhook"}`:                                            3,
		`usher_connections_closed_total{server="webhook",cause="idle"}`:                  0,
		`usher_configuration_valid`:                                                      1,
		`usher_template_valid{template="side"}`:                                          1,
		`usher_template_info{template="side",version="` + i.version + `"}`:               1,
		// A revision, which namespaces choose by a label, is another version on
		// purpose.
		`usher_template_valid{template="side/next"}`:               1,
		`usher_template_info{template="side/next",version="next"}`: 1,
		`usher_certificate_expiry_seconds{what="serving"}`:         60 * 86400,
		`usher_certificate_expiry_seconds{what="ca"}`:              600 * 86400,
		`usher_registration_current`:                               0,
		`go_memstats_sys_bytes`:                                    60,
		`go_memstats_heap_released_bytes`:                          10,
		`go_gc_gomemlimit_bytes`:                                   100,
		`process_resident_memory_bytes`:                            80,
		`usher_kubernetes_info{version="1.36.3"}`:                  1,
	}
	if holder {
		s[`usher_registration_current`] = 1
	}
	return s
}

// controller is one with clusters, backups and Networks of the same name in two
// namespaces.
func controller(minute int) series {
	s := series{
		`usher_build_info{component="controller",goversion="go1",version="v1"}`:              1,
		`leader_election_master_status{name="usher-controller"}`:                             1,
		`usher_pods{template="side",state="missing"}`:                                        0,
		`usher_pods{template="side",state="current"}`:                                        5,
		`usher_network_orphans`:                                                              0,
		`usher_network_backend_calls_total{backend="multus",call="ensure",result="success"}`: float64(minute),
		`usher_etcdcluster_steps_total{action="add"}`:                                        3,
		`go_memstats_sys_bytes`:                                                              60,
		`go_memstats_heap_released_bytes`:                                                    10,
		`go_gc_gomemlimit_bytes`:                                                             100,
		`process_resident_memory_bytes`:                                                      80,
	}
	for _, namespace := range []string{"shop", "stage"} {
		s[alarm("NOSPACE", namespace)], s[alarm("CORRUPT", namespace)] = 0, 0
		for name, value := range map[string]float64{
			"usher_network_ready": 1, "usher_etcdcluster_available": 1, "usher_etcdcluster_quorum_lost": 0, "usher_etcdcluster_stalled": 0,
			"usher_etcdcluster_claims_set_aside": 0, "usher_etcdcluster_quorum_margin": 1, "usher_etcdbackup_succeeded": 1,
			"usher_etcdbackup_interval_seconds": 3600, "usher_etcdbackup_last_size_bytes": 1e6, "usher_etcdbackup_last_duration_seconds": 2,
			"usher_etcdbackup_created_timestamp_seconds": seconds(0), "usher_etcdbackup_last_success_timestamp_seconds": seconds(minute - minute%60),
		} {
			s[object(name, namespace)] = value
		}
		s[database("size", namespace)], s[database("in_use", namespace)], s[database("quota", namespace)] = quota/2, quota/4, quota
		s[fmt.Sprintf(`usher_etcdcluster_members{ready="true",namespace=%q,name="main"}`, namespace)] = 3
		s[fmt.Sprintf(`usher_etcdcluster_members{ready="false",namespace=%q,name="main"}`, namespace)] = 0
	}
	return s
}

// quota is that of the members' databases.
const quota = 2 << 30

// database is a series about the database of the member of that cluster.
func database(metric, namespace string) string {
	return fmt.Sprintf(`usher_etcdcluster_database_%s_bytes{member="main-0",namespace=%q,name="main"}`, metric, namespace)
}

// member is one of etcd.
func member(minute int) series {
	writes := float64(60 * minute)
	return series{
		`etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}`:      writes,
		`etcd_disk_wal_fsync_duration_seconds_bucket{le="1.024"}`:      writes,
		`etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"}`:       writes,
		`etcd_disk_backend_commit_duration_seconds_bucket{le="0.008"}`: writes,
		`etcd_disk_backend_commit_duration_seconds_bucket{le="0.512"}`: writes,
		`etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"}`:  writes,
		`etcd_server_leader_changes_seen_total`:                        float64(1 + minute/30),
		`etcd_mvcc_db_total_size_in_bytes`:                             quota / 2,
		`etcd_server_quota_backend_bytes`:                              quota,
	}
}

// object is a series about the object "main" in a namespace.
func object(metric, namespace string) string {
	return fmt.Sprintf(`%s{namespace=%q,name="main"}`, metric, namespace)
}

// alarm is the series about an alarm of etcd in that cluster.
func alarm(name, namespace string) string {
	return fmt.Sprintf(`usher_etcdcluster_alarm{alarm=%q,namespace=%q,name="main"}`, name, namespace)
}

// calls are the API server's successful calls.
func calls(minute int) series {
	return series{
		`apiserver_admission_webhook_admission_duration_seconds_count{name="annotated-pods.inject.usher.dev",operation="CREATE",rejected="false",type="admit"}`: float64(60 * minute),
	}
}

// targets are the processes of an installation in a state. Two installations in a
// cluster have one API server, of which the first counts the calls.
func (i installation) targets(s state, first bool) []prometheus.Target {
	var all []prometheus.Target
	add := func(job, instance, namespace string, answer series) {
		all = append(all, prometheus.Target{Job: job, Instance: instance, Namespace: namespace, Cluster: i.cluster, Get: answer.get})
	}
	for replica, answer := range s.webhooks {
		add(i.namespace+"/usher-webhook", fmt.Sprintf("10.0.0.%d:8081", replica), i.namespace, answer)
	}
	if i.controller {
		add(i.namespace+"/usher-controller", "10.0.0.9:8081", i.namespace, s.controller)
	}
	for namespace, answer := range s.members {
		all = append(all, prometheus.Target{
			Job: i.namespace + "/usher-etcd", Instance: namespace + ":2381", Namespace: namespace, Cluster: i.cluster,
			Labels: map[string]string{"name": "main", "pod": "main-0"}, Get: answer.get,
		})
	}
	if first {
		add("apiserver", "10.0.0.1:6443", "default", s.apiServer)
	}
	return all
}

func (s series) get(context.Context) (string, error) {
	if s == nil {
		return "", errors.New("the process does not answer")
	}
	var lines []string
	for name, value := range s {
		lines = append(lines, fmt.Sprintf("%s %g\n", name, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), nil
}
