package neutron

import (
	"fmt"
	"sync"
	"time"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// lostRequests are the requests to make a network that nobody answered. Neutron
// may still carry them out: to send another at once would make two networks.
type lostRequests struct {
	// patience is how long one may still be carried out.
	patience time.Duration

	mu sync.Mutex
	// noticed is when the answer was found to be missing, zero where nobody
	// has looked yet. Its keys have no UID.
	noticed map[backend.Owner]time.Time
}

func newLostRequests(patience time.Duration) *lostRequests {
	return &lostRequests{patience: patience, noticed: map[backend.Owner]time.Time{}}
}

// asked remembers that a network was asked for, until there is an answer.
func (l *lostRequests) asked(owner backend.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noticed[anyUID(owner)] = time.Time{}
}

// answered forgets it.
func (l *lostRequests) answered(owner backend.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.noticed, anyUID(owner))
}

// settled is an error while a network may still come of a lost request.
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
	left := l.patience - time.Since(noticed)
	if left <= 0 {
		delete(l.noticed, key)
		return nil
	}
	return fmt.Errorf("nobody answered the request to make the network, which may still be carried out: it is looked for, and sent again in %s", left.Round(time.Second))
}

// anyUID is the owner by its name alone.
func anyUID(owner backend.Owner) backend.Owner {
	owner.UID = ""
	return owner
}
