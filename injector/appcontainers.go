package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// AppItems are what a template added to one of the pod's own containers, by the
// items' keys.
type AppItems struct {
	Env          []string `json:"env,omitempty"`
	EnvFrom      []string `json:"envFrom,omitempty"`
	VolumeMounts []string `json:"volumeMounts,omitempty"`
}

// An appContainer is the view of one of the pod's containers, for what
// templates add to it. Each template extends it.
type appContainer struct {
	list  string
	index int
	name  string
	env   appList
	from  appList
	mount appList
}

// An appList is one list of a container.
type appList struct {
	field string
	// absent is true if the container does not have the list.
	absent bool
	items  []jsontext.Value
	// last is the index of the last item of each key.
	last map[string]int
	// origins are the templates that added an item, by the item's index.
	origins map[int]string
	// repeats is true if a key occurs twice.
	repeats bool
}

func newAppList(field string, items []jsontext.Value, key func(jsontext.Value) string) appList {
	l := appList{field: field, absent: items == nil, items: items, last: make(map[string]int, len(items)), origins: map[int]string{}}
	for i, item := range items {
		k := key(item)
		_, twice := l.last[k]
		l.repeats = l.repeats || twice
		l.last[k] = i
	}
	return l
}

// appContainers decodes the containers of the original pod, once.
func (m *merge) appContainers() []*appContainer {
	if m.app != nil {
		return m.app
	}
	type lists struct {
		Name         string           `json:"name"`
		Env          []jsontext.Value `json:"env"`
		EnvFrom      []jsontext.Value `json:"envFrom"`
		VolumeMounts []jsontext.Value `json:"volumeMounts"`
	}
	var object struct {
		Spec struct {
			Containers     []lists `json:"containers"`
			InitContainers []lists `json:"initContainers"`
		} `json:"spec"`
	}
	m.app = []*appContainer{}
	if json.Unmarshal(m.raw, &object) != nil {
		return m.app // the pod was decoded, so one of the lists is not a list
	}
	for list, containers := range map[string][]lists{"containers": object.Spec.Containers, "initContainers": object.Spec.InitContainers} {
		for i, c := range containers {
			m.app = append(m.app, &appContainer{
				list: list, index: i, name: c.Name,
				env: newAppList("env", c.Env, func(item jsontext.Value) string {
					var e struct {
						Name string `json:"name"`
					}
					_ = json.Unmarshal(item, &e)
					return e.Name
				}),
				from: newAppList("envFrom", c.EnvFrom, func(item jsontext.Value) string {
					var f corev1.EnvFromSource
					_ = json.Unmarshal(item, &f)
					return template.EnvSource(f)
				}),
				mount: newAppList("volumeMounts", c.VolumeMounts, func(item jsontext.Value) string {
					var v podjson.Mount
					_ = json.Unmarshal(item, &v)
					return template.MountKey(v.MountPath)
				}),
			})
		}
	}
	slices.SortFunc(m.app, func(a, b *appContainer) int {
		if a.list != b.list {
			return strings.Compare(a.list, b.list)
		}
		return a.index - b.index
	})
	return m.app
}

// appTargets returns the containers to which a template's appContainers apply:
// those that the annotation lists, or else every container that is neither an
// init container nor a template's. foreign are the names of the templates'
// containers.
func (m *merge) appTargets(t *template.Template, named *template.PodOverride, foreign func() map[string]bool) ([]*appContainer, *finding.Finding) {
	if named != nil && t.App.Empty() {
		return nil, named.Problem("cannot be applied: the template %q has no appContainers", t.Name)
	}
	if t.App.Empty() {
		return nil, nil
	}
	templates := foreign()
	for _, c := range slices.Concat(t.Containers, t.InitContainers) {
		templates[c.Name] = true // also those of a replaced version
	}
	own := slices.DeleteFunc(slices.Clone(m.appContainers()), func(c *appContainer) bool { return templates[c.name] })
	if named == nil {
		return slices.DeleteFunc(own, func(c *appContainer) bool { return c.list != "containers" }), nil
	}
	var targets []*appContainer
	for name := range strings.SplitSeq(named.Value, ",") {
		name = strings.TrimSpace(name)
		at := slices.IndexFunc(own, func(c *appContainer) bool { return c.name == name })
		if at < 0 {
			var names []string
			for _, c := range own {
				names = append(names, c.name)
			}
			return nil, named.Problem("names the container %s; the pod's own are %s", finding.Quote(name), strings.Join(names[:min(len(names), 10)], ", "))
		}
		if !slices.Contains(targets, own[at]) {
			targets = append(targets, own[at])
		}
	}
	return targets, nil
}

// of returns the keys of the items in one list.
func (i *AppItems) of(field string) *[]string {
	switch field {
	case "env":
		return &i.Env
	case "envFrom":
		return &i.EnvFrom
	}
	return &i.VolumeMounts
}

// appField is the container's list of a kind of items.
func (k itemKind) appField() string {
	switch k {
	case envItem:
		return "env"
	case envFromItem:
		return "envFrom"
	}
	return "volumeMounts"
}

// listOf is the container's list of a kind of items.
func (c *appContainer) listOf(k itemKind) *appList {
	switch k {
	case envItem:
		return &c.env
	case envFromItem:
		return &c.from
	}
	return &c.mount
}

// compare appends what the container has of a template's items. A variable with
// two sources has the value of the last one, so a source of the same key is
// equal.
func (c *appContainer) compare(matches []itemMatch, t *template.Template, claim *RecordEntry) []itemMatch {
	var claimed AppItems
	if claim != nil {
		claimed = claim.AppContainers[c.name]
	}
	for _, kind := range []itemKind{envItem, envFromItem, mountItem} {
		list := c.listOf(kind)
		items := itemsOf(&t.App, kind)
		for i := range items {
			item := &items[i]
			m := itemMatch{kind: kind, index: i, app: c}
			if at, has := list.last[item.Key]; has {
				m.by = foreign
				if slices.Contains(*claimed.of(list.field), item.Key) {
					m.by = byRecord
				}
				if kind != envFromItem && !item.Same(list.items[at]) {
					m.differs = []difference{c.taken(list, at)}
				}
				if kind == envItem && len(m.differs) > 0 {
					m.append(t, item, list.items[at])
				}
			}
			matches = append(matches, m)
		}
	}
	return matches
}

// taken says who has another item.
func (c *appContainer) taken(list *appList, at int) difference {
	if origin := list.origins[at]; origin != "" {
		return difference{field: fmt.Sprintf("spec.%s[%d]", c.list, c.index), owner: "template " + origin}
	}
	return difference{field: fmt.Sprintf("spec.%s[%d].%s[%d]", c.list, c.index, list.field, at), owner: "the pod"}
}

// lacksAppItem reports whether one of the pod's own containers lacks an item.
func (c *comparison) lacksAppItem() bool {
	return slices.ContainsFunc(c.matches, func(m itemMatch) bool { return m.app != nil && m.by == absent })
}

// addAppItems adds the missing items to the containers, and returns what each
// container got according to the record. Variables and mounts go after the
// user's; sources of variables go before them, because with two sources of the
// same variable the last one wins.
func (m *merge) addAppItems(c *comparison) map[string]AppItems {
	var added map[string]AppItems
	var target *appContainer
	var items AppItems
	sources := 0
	for i := range c.matches {
		match := &c.matches[i]
		if match.app == nil {
			continue
		}
		if match.app != target {
			target, items, sources = match.app, AppItems{}, 0
			m.duplicates = m.duplicates || target.env.repeats || target.mount.repeats
		}
		list, item := target.listOf(match.kind), &itemsOf(&c.template.App, match.kind)[match.index]
		at, has := list.last[item.Key] // a template may name a source twice
		if !has || match.by == byRecord {
			names := items.of(list.field)
			*names = append(*names, item.Key)
			if added == nil {
				added = map[string]AppItems{}
			}
			added[target.name] = items
		}
		where, index := "-", target.index
		if target.list == "initContainers" {
			index += m.before
		}
		if has && match.appends {
			m.appendValue(fmt.Sprintf("/spec/%s/%d/env/%d", target.list, index, at), list, at, item, c.template)
		}
		if has {
			continue
		}
		if match.kind == envFromItem {
			where = fmt.Sprint(sources)
			sources++
		}
		m.item(fmt.Sprintf("%s/%d/%s", target.list, index, list.field), list.absent, where, item.Raw)
		list.absent = false
		list.last[item.Key] = len(list.items)
		list.origins[len(list.items)] = c.template.Name
		list.items = append(list.items, item.Raw)
	}
	return added
}

// hasAppItems reports whether the pod has its own containers that the record
// names, with the items that they got, whatever others changed in them: for the
// template's current version all of its items, for another version those that the
// record names. It ignores a container that another webhook added since.
func (m *merge) hasAppItems(t *template.Template, claim RecordEntry) bool {
	if len(claim.AppContainers) == 0 {
		return true
	}
	found := 0
	for _, c := range m.appContainers() {
		items, named := claim.AppContainers[c.name]
		if !named {
			continue
		}
		found++
		if claim.Content == t.Content {
			if slices.ContainsFunc(c.compare(nil, t, nil), func(m itemMatch) bool { return m.by == absent }) {
				return false
			}
			continue
		}
		for _, list := range []*appList{&c.env, &c.from, &c.mount} {
			if slices.ContainsFunc(*items.of(list.field), func(key string) bool { _, has := list.last[key]; return !has }) {
				return false
			}
		}
	}
	return found >= len(claim.AppContainers)
}
