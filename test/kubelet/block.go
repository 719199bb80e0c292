package kubelet

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// A block of addresses, 127.77.number.*, is that of one kubelet's pods. The port of
// its last address holds it against kubelets of other processes until it is closed,
// or the process ends.
type block struct {
	number byte
	held   net.Listener
}

const (
	blocks    = 250
	blockPort = 10250 // a kubelet's
)

// reserve finds a block that no other kubelet of this machine has.
func reserve() (block, error) {
	var errs []error
	for i := range blocks {
		number := byte((os.Getpid()+i)%blocks) + 1
		held, err := net.Listen("tcp", fmt.Sprintf("127.77.%d.255:%d", number, blockPort))
		if err == nil {
			return block{number, held}, nil
		}
		errs = append(errs, err)
	}
	return block{}, fmt.Errorf("no block of addresses is free: %w", errors.Join(errs...))
}
