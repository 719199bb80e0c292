// Package limits_test runs usher's webhook as a process in a memory cgroup with
// the limit of its Deployment, and measures what the limit has to hold: a large
// cluster, and clients that flood the port.
package limits_test
