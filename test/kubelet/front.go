package kubelet

import (
	"context"
	"io"
	"net"
	"time"
)

// A Way is what is wrong with the way to a pod for those that use the address
// in its status. The other pods use its name, and tests Address.
type Way uint8

const (
	// Cut has nothing that listens.
	Cut Way = iota + 1
	// Silent accepts connections, and nothing comes back.
	Silent
	// Slow returns everything later than a client waits.
	Slow
)

// delay is how late answers arrive on a slow way: later than the controller's
// client waits.
const delay = 4 * time.Second

// Obstruct gives the pod's status another address, to which the way is
// obstructed until the context ends.
func (k *Kubelet) Obstruct(ctx context.Context, namespace, name string, way Way) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	ip := net.ParseIP(run.ip).To4()
	front := net.IPv4(127, 78, ip[2], ip[3]).String()
	for _, port := range []string{"2379", "2381"} {
		if way == Cut {
			break
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(front, port))
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { listener.Close() })
		if way == Slow {
			go serveSlowly(listener, net.JoinHostPort(run.ip, port))
		}
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.front = front
	return nil
}

// Address returns the address of a pod's process.
func (k *Kubelet) Address(namespace, name string) (string, error) {
	run, err := k.of(namespace, name)
	if err != nil {
		return "", err
	}
	return run.ip, nil
}

// serveSlowly forwards connections, and returns what comes back late.
func serveSlowly(listener net.Listener, to string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer server.Close()
			go func() { _, _ = io.Copy(server, client) }()
			buffer := make([]byte, 32<<10)
			for {
				n, err := server.Read(buffer)
				if err != nil {
					return
				}
				time.Sleep(delay)
				if _, err := client.Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
	}
}
