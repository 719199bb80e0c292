package podjson

import (
	"github.com/usher-dev/usher/jsonscan"
)

// read reads a pod as an API server writes it. It returns false for a pod that only
// a full decoder can read, or refuse. The pod keeps parts of raw.
func read(raw []byte) (p *Pod, ok bool) {
	p = &Pod{}
	s := jsonscan.New(raw)
	defer s.Close()
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "metadata":
			p.Metadata = readMetadata(s)
		case "spec":
			p.Spec = readSpec(s)
		default:
			s.Skip()
		}
	}
	return p, s.Done()
}

func readMetadata(s *jsonscan.Scanner) *Metadata {
	if s.Null() {
		return nil
	}
	m := &Metadata{}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "name":
			m.Name = s.Text()
		case "labels":
			m.Labels = s.Map()
		case "annotations":
			m.Annotations = s.Map()
		case "deletionTimestamp":
			m.DeletionTimestamp = s.Text()
		default:
			s.Skip()
		}
	}
	return m
}

func readSpec(s *jsonscan.Scanner) *Spec {
	if s.Null() {
		return nil
	}
	spec := &Spec{}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "restartPolicy":
			spec.RestartPolicy = s.Text()
		case "hostNetwork":
			spec.HostNetwork = s.Bool()
		case "automountServiceAccountToken":
			if !s.Null() {
				spec.Automount = new(s.Bool())
			}
		case "os":
			if !s.Null() {
				spec.OS = &OS{}
				member(s, "name", &spec.OS.Name)
			}
		case "nodeSelector":
			member(s, "kubernetes.io/os", &spec.NodeSelector.OS)
		case "containers":
			spec.Containers = readList(s, readContainer)
		case "initContainers":
			spec.InitContainers = readList(s, readContainer)
		case "ephemeralContainers":
			spec.EphemeralContainers = readList(s, readContainer)
		case "volumes":
			spec.Volumes = readList(s, readVolume)
		case "imagePullSecrets":
			spec.ImagePullSecrets = readList(s, readPullSecret)
		case "hostAliases":
			spec.HostAliases = readList(s, readHostAlias)
		default:
			s.Skip()
		}
	}
	return spec
}

// readList reads a list with the function that reads an item into it.
func readList[T any](s *jsonscan.Scanner, item func(*jsonscan.Scanner, *T)) []T {
	if s.Null() {
		return nil
	}
	list := []T{}
	for s.List(); s.Item(); {
		var zero T
		list = append(list, zero)
		item(s, &list[len(list)-1])
	}
	return list
}

// member reads the only member of an object that matters; null has none.
func member(s *jsonscan.Scanner, name string, value *string) {
	if s.Null() {
		return
	}
	for s.Object(); s.Member(); {
		if string(s.Name) == name {
			*value = s.Text()
			continue
		}
		s.Skip()
	}
}

func readContainer(s *jsonscan.Scanner, c *Container) {
	if s.Null() {
		return
	}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "name":
			c.Name = s.Text()
		case "ports":
			c.Ports = readList(s, readPort)
		case "volumeMounts":
			c.VolumeMounts = readList(s, readMount)
		default:
			s.Skip()
		}
	}
}

func readPort(s *jsonscan.Scanner, p *Port) {
	if s.Null() {
		return
	}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "containerPort":
			p.ContainerPort = s.Int32()
		case "hostPort":
			p.HostPort = s.Int32()
		case "hostIP":
			p.HostIP = s.Text()
		case "protocol":
			p.Protocol = s.Text()
		default:
			s.Skip()
		}
	}
}

func readMount(s *jsonscan.Scanner, m *Mount) {
	if s.Null() {
		return
	}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "name":
			m.Name = s.Text()
		case "mountPath":
			m.MountPath = s.Text()
		default:
			s.Skip()
		}
	}
}

func readVolume(s *jsonscan.Scanner, v *Volume) {
	from := s.Start()
	member(s, "name", &v.Name)
	v.Raw = s.Since(from)
}

func readPullSecret(s *jsonscan.Scanner, p *PullSecret) { member(s, "name", &p.Name) }

func readHostAlias(s *jsonscan.Scanner, a *HostAlias) {
	if s.Null() {
		return
	}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "ip":
			a.IP = s.Text()
		case "hostnames":
			a.Hostnames = readList(s, func(s *jsonscan.Scanner, name *string) { *name = s.Text() })
		default:
			s.Skip()
		}
	}
}

// templateAt finds the pod template of a workload as an API server writes it, and
// reads all of the workload. It returns false for one that only a full decoder can
// read, or refuse.
func templateAt(path []string, workload []byte) (template []byte, ok bool) {
	s := jsonscan.New(workload)
	defer s.Close()
	template = valueAt(s, path)
	return template, s.Done() && len(template) > 0 && template[0] != 'n'
}

// valueAt returns the value at a path, and reads the whole value around it.
func valueAt(s *jsonscan.Scanner, path []string) (value []byte) {
	if len(path) == 0 {
		return s.Skip()
	}
	for s.Object(); s.Member(); {
		if string(s.Name) == path[0] {
			value = valueAt(s, path[1:])
			continue
		}
		s.Skip()
	}
	return value
}
