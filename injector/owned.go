package injector

import (
	"fmt"
	"slices"
)

// owned names the items of the pod that stay as they are although the template has
// other values for them, whether by its own policy or because the pod did not ask.
func (c *comparison) owned() []string {
	var names []string
	for i := range c.matches {
		m := &c.matches[i]
		switch {
		case m.kind == hostAliasItem:
			for _, name := range c.ownHostnames(m.index) {
				names = append(names, "host name "+name)
			}
		case len(m.differs) == 0 || m.ours() || m.appends || !c.keeps(m):
		case m.kind == podFieldItem:
			names = append(names, "field "+m.differs[0].field)
		case m.kind == envItem:
			names = append(names, fmt.Sprintf("variable %s of container %s", c.template.App.Env[m.index].Key, m.app.name))
		case m.kind == labelItem:
			names = append(names, "label "+c.pair(m).Key)
		case m.kind == annotationItem:
			names = append(names, "annotation "+c.pair(m).Key)
		}
	}
	return names
}

// ownHostnames returns the host names of the template for which the pod keeps another
// address, and gets no second one.
func (c *comparison) ownHostnames(index int) (names []string) {
	if !c.unasked && len(c.template.Options.OnConflict.HostAliases) == 0 {
		return nil
	}
	gets, _ := c.missingHostnames(index)
	lacks, _ := c.pod.pod.Spec.MissingHostnames(&c.template.HostAliases[index])
	for _, name := range lacks {
		if !slices.Contains(gets, name) {
			names = append(names, name)
		}
	}
	return names
}
