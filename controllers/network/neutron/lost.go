package neutron

import (
	"fmt"
	"sync"
	"time"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// lostRequests are the requests to create a network without a response. Neutron
// may still execute them: an immediate retry would create two networks.
type lostRequests struct {
	// settleWithin is how long Neutron may still execute one.
	settleWithin time.Duration

	mu sync.Mutex
	// noticed is when the missing response was noticed, or zero. Its keys have no
	// UID.
	noticed map[backend.Owner]time.Time
}

func newLostRequests(settleWithin time.Duration) *lostRequests {
	return &lostRequests{settleWithin: settleWithin, noticed: map[backend.Owner]time.Time{}}
}

// asked records a request until there is a response.
func (l *lostRequests) asked(owner backend.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noticed[anyUID(owner)] = time.Time{}
}

// answered removes the record.
func (l *lostRequests) answered(owner backend.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.noticed, anyUID(owner))
}

// settled returns an error while a lost request may still create a network.
func (l *lostRequests) settled(owner backend.Owner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := anyUID(owner)
	noticed, lost := l.noticed[key]
	if !lost {
		return nil
	}
	if noticed.IsZero() {
		noticed = time.Now()
		l.noticed[key] = noticed
	}
	left := l.settleWithin - time.Since(noticed)
	if left <= 0 {
		delete(l.noticed, key)
		return nil
	}
	return fmt.Errorf("the request to create the network timed out, and Neutron may still execute it: usher looks for the network, and retries in %s", left.Round(time.Second))
}

// anyUID returns the owner with only its name.
func anyUID(owner backend.Owner) backend.Owner {
	owner.UID = ""
	return owner
}
