package node

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

const (
	// NodeName is the node's name in the cluster.
	NodeName = "usher-node"

	// hostAddress is the address of the node's own programs: on an interface of
	// its own, so that only pods can reach them.
	hostAddress   = "10.245.0.1"
	hostInterface = "usher-node"
	podRange      = "10.244.0.0/24"
	serviceRange  = "10.96.0.0/16"
	firstService  = "10.96.0.1"
	clusterDomain = "cluster.local"

	apiPort   = "16443"
	apiServer = "https://" + hostAddress + ":" + apiPort
	etcdURL   = "http://127.0.0.1:12379"
	etcdPeer  = "http://127.0.0.1:12380"

	auditLog = Folder + "/log/audit.log"
	// provisioner makes the volumes of claims.
	provisioner = "usher.dev/node"
	// natTable is the nftables table of files/nat.nft.
	natTable = "usher-node"
	// pauseImage has a dot in its first part, without which containerd would pull
	// it from a registry.
	pauseImage = "node.local/pause:1"
)

//go:embed files
var files embed.FS

// writeFiles writes the programs' configuration files into the node's folder.
func (m *machine) writeFiles() error {
	all, err := template.ParseFS(files, "files/*")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Folder": Folder, "Host": hostAddress, "Pods": podRange, "Domain": clusterDomain,
		"Pause": pauseImage, "Plugins": m.bin, "Provisioner": provisioner,
	}
	for _, file := range all.Templates() {
		path := filepath.Join(Folder, file.Name())
		if filepath.Ext(path) == ".conflist" {
			path = filepath.Join(Folder, "cni", file.Name())
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := file.Execute(f, values); err != nil {
			f.Close()
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
