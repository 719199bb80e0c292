// Package member describes the objects that a member of an etcd cluster
// consists of: its name and addresses, its pod, its claim and its certificates;
// and the Services, Certificates and PodDisruptionBudget that members share. It
// decides nothing: package plan does, and the controllers create what it
// describes.
package member
