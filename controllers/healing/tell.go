package healing

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/kinds"
)

const (
	// ReasonMissing is that of the Event on an owner whose pods lack a template.
	ReasonMissing = "SidecarMissing"
	// tellOnce is how often an owner is told of one template.
	tellOnce = time.Hour
	// tellAtOnce is how many owners are told each time the pods are counted.
	tellAtOnce = 20
	// remembered is how many owners are known not to be told again.
	remembered = 4096
)

// told is the key of what an owner was told.
type told struct {
	owner    types.UID
	template string
}

// tell writes an Event on each owner whose pods lack a template that they ask for.
// Pods without an owner are only counted.
func (c *Controller) tell(missing []drift.Finding) {
	first, order := map[told]drift.Finding{}, []told(nil)
	for _, f := range missing {
		owner := f.Top()
		if owner == nil {
			continue
		}
		key := told{owner.UID, f.Template}
		if _, again := first[key]; !again {
			first[key], order = f, append(order, key)
		}
	}
	events := 0
	for _, key := range order {
		if _, known := c.told.Get(key); known || events == tellAtOnce {
			continue
		}
		events++
		c.told.Add(key, true, tellOnce)
		f, owner := first[key], first[key].Top()
		remedy := fmt.Sprintf("`usher drift %s -n %s --restart` replaces them", f.Owner, f.Namespace)
		if !kinds.Named(owner.Kind).Is(kinds.Restarts) {
			remedy = "recreate them"
		}
		c.events.Eventf(&corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID}, nil,
			corev1.EventTypeWarning, ReasonMissing, "Count", "pods lack the template %s, which new pods get: %s", f.Template, remedy)
	}
}
