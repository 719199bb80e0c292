package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
)

// An edit follows a part of a fix.
type edit struct {
	// at is the path of what to change: below the field of the finding, or of its
	// parents if it begins with "../", or of the object if it begins with "/".
	at string
	// value is the YAML of the new value, "" to remove the field, and a name in backticks
	// for the value that the text has for it.
	value string
	// in, if set, is the kind and name of another object to change, or "new" to add value
	// as one.
	in string
}

// A fix is a list of edits, which the advice of a rule asks for together.
type fix []edit

// TestFixes_CallForNoOther follows the fix of each rule in its deny fixtures: the finding
// must be gone, and the object must not get one of another rule of the same level or a
// more severe one.
func TestFixes_CallForNoOther(t *testing.T) {
	e, err := New(policies.Options{Groups: policies.Groups()})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, r := range All() {
		paths, err := filepath.Glob(filepath.Join("testdata", r.ID, "deny", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			before := readFixture(t, e, path)
			had := findingsOf(e, before)
			for i := range before.objects {
				found := ofRule(e.Evaluate(before.objects[i], before.input), r.ID)
				if len(found) == 0 {
					continue
				}
				name := fmt.Sprintf("%s/%s/%d", r.ID, strings.TrimSuffix(filepath.Base(path), ".yaml"), i)
				for n, edits := range alternatives(name, used) {
					t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
						for _, f := range findingsOf(e, follow(t, e, before, i, r, found, edits)) {
							switch {
							case f.object == i && f.rule == r.ID:
								t.Errorf("the fix leaves the finding: %s", f.message)
							case r.Level.Includes(f.level) && !slices.ContainsFunc(had, f.same):
								t.Errorf("the fix leads to %s: %s", f.rule, f.message)
							}
						}
					})
				}
			}
		}
	}
	for name := range fixes {
		if !used[name] {
			t.Errorf("fixes has %s, which has no fixture", name)
		}
	}
}

// alternatives returns the ways to follow the advice about an object of a fixture.
func alternatives(name string, used map[string]bool) []fix {
	for at := name; at != "."; at = filepath.Dir(at) {
		if found, ok := fixes[at]; ok {
			used[at] = true
			return found
		}
	}
	return []fix{nil} // the value is in the text
}

// A located finding is one of an object of a fixture.
type located struct {
	object        int
	rule, message string
	level         finding.Level
}

func (l located) same(other located) bool { return l.object == other.object && l.rule == other.rule }

func findingsOf(e *policies.Evaluator, f *fixture) (all []located) {
	for i, o := range f.objects {
		for _, found := range e.Evaluate(o, f.input) {
			all = append(all, located{i, found.Rule, found.Field + ": " + found.Message, found.Level})
		}
	}
	return all
}

func ofRule(all []finding.Finding, id string) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Rule != id })
}

// follow returns a fixture in which an object follows the advice of its findings.
func follow(t *testing.T, e *policies.Evaluator, before *fixture, object int, r *policies.Rule, found []finding.Finding, edits fix) *fixture {
	t.Helper()
	var docs []map[string]any
	for _, text := range strings.Split(before.body, "\n---\n") {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	for _, f := range found {
		if edits == nil {
			at, value := advised(t, r.Fix, pathOf(f.Field))
			put(t, docs[object], at, merged(get(docs[object], at), value))
			continue
		}
		for _, ed := range edits {
			var value any
			if name := strings.Trim(ed.value, "`"); name != ed.value {
				_, value = advised(t, r.Fix, []any{name})
			} else if err := yaml.Unmarshal([]byte(ed.value), &value); err != nil {
				t.Fatal(err)
			}
			switch ed.in {
			case "new":
				docs = append(docs, value.(map[string]any))
			case "":
				put(t, docs[object], resolve(pathOf(f.Field), ed.at), value)
			default:
				i := slices.IndexFunc(docs, func(doc map[string]any) bool {
					return fmt.Sprint(doc["kind"], " ", get(doc, pathOf("metadata.name"))) == ed.in
				})
				if i < 0 {
					t.Fatalf("there is no %s", ed.in)
				}
				put(t, docs[i], resolve(nil, ed.at), value)
			}
		}
	}
	var texts []string
	for _, doc := range docs {
		text, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.TrimSuffix(string(text), "\n"))
	}
	file := filepath.Join(t.TempDir(), "after.yaml")
	if err := os.WriteFile(file, []byte(before.comments+strings.Join(texts, "\n---\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return readFixture(t, e, file)
}

// advised returns the first value in the text of a fix that has the name of the field or
// of one of its parents, and its place.
func advised(t *testing.T, text string, field []any) (at []any, value any) {
	t.Helper()
	for i, part := range strings.Split(text, "`") {
		var fields map[string]any
		if i%2 == 0 || yaml.Unmarshal([]byte(part), &fields) != nil || len(fields) != 1 {
			continue
		}
		for name, value := range fields {
			for n := len(field); n > 0; n-- {
				if field[n-1] == name {
					return field[:n], value
				}
			}
		}
	}
	t.Fatalf("the fix has no value for %v: %s", field, text)
	return nil, nil
}

// pathOf returns the names and indexes of a field path.
func pathOf(text string) (path []any) {
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if strings.HasPrefix(text, "[") {
			end = strings.IndexByte(text, ']')
			key := text[1:end]
			if index, err := strconv.Atoi(key); err == nil {
				path = append(path, index)
			} else {
				path = append(path, key)
			}
			text = strings.TrimPrefix(text[end+1:], ".")
			continue
		}
		if end < 0 {
			end = len(text)
		}
		path = append(path, text[:end])
		text = strings.TrimPrefix(text[end:], ".")
	}
	return path
}

// resolve returns the path that an edit names.
func resolve(field []any, at string) []any {
	if rest, absolute := strings.CutPrefix(at, "/"); absolute {
		return pathOf(rest)
	}
	for strings.HasPrefix(at, "../") {
		field, at = field[:len(field)-1], at[len("../"):]
	}
	return slices.Concat(field, pathOf(at))
}

func get(in any, path []any) any {
	for _, step := range path {
		switch node := in.(type) {
		case map[string]any:
			in = node[step.(string)]
		case []any:
			in = node[step.(int)]
		default:
			return nil
		}
	}
	return in
}

// put sets the value at a path, or removes it if it is nil.
func put(t *testing.T, in any, path []any, value any) {
	t.Helper()
	for i, step := range path[:len(path)-1] {
		next := get(in, []any{step})
		if next == nil {
			next = map[string]any{}
			put(t, in, path[i:i+1], next)
		}
		in = next
	}
	switch node := in.(type) {
	case map[string]any:
		name := path[len(path)-1].(string)
		if node[name] = value; value == nil {
			delete(node, name)
		}
	case []any:
		node[path[len(path)-1].(int)] = value // a removed item stays as null
	default:
		t.Fatalf("%v has no fields", path)
	}
}

// merged adds the fields of a value to those that are there.
func merged(old, value any) any {
	o, oldFields := old.(map[string]any)
	v, newFields := value.(map[string]any)
	if !oldFields || !newFields {
		return value
	}
	for name, one := range v {
		o[name] = merged(o[name], one)
	}
	return o
}

// fixes are what the rules advise where the text of the fix does not have the whole
// value, by rule, fixture and object: alternatives, of which each must be enough.
var fixes = map[string][]fix{
	"backup-claim":                          {{{in: "new", value: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: backups}, spec: {accessModes: [ReadWriteMany]}}"}}},
	"backup-endpoint/no-url/0":              {{{at: "/spec.etcdEndpoints", value: `["http://example-client:2379"]`}}},
	"backup-endpoint/no-url/1":              {{{value: `"http://example-client:2379"`}}},
	"backup-endpoint/no-url/2":              {{{value: "client"}}, {{at: "/spec.etcdEndpoints", value: `["http://example-client:2379"]`}}},
	"backup-endpoint/no-url/3":              {{{value: `"https://s3.example"`}}},
	"backup-endpoint/no-url/4":              {{{value: `"https://s3.example"`}}},
	"backup-policy":                         {{{value: "3600"}}},
	"backup-policy/negative/2":              {{{at: "../backupIntervalInSecond", value: "`backupIntervalInSecond`"}}},
	"backup-secret/missing":                 {{{in: "new", value: "{apiVersion: v1, kind: Secret, metadata: {name: aws}, stringData: {credentials: x, config: x}}"}, {in: "Secret client", at: "/stringData", value: "{etcd-client.crt: x, etcd-client.key: x, etcd-client-ca.crt: x}"}}},
	"backup-secret":                         {{{in: "Secret aws", at: "/stringData", value: "{credentials: x, config: x}"}}},
	"backup-storage/no-place/0":             {{{value: "{path: backups/example, awsSecret: aws}"}}},
	"backup-storage/no-place/1":             {{{value: "aws"}}},
	"backup-storage/no-place/2":             {{{value: "aws"}}},
	"backup-storage/no-place/4":             {{{value: "{claimName: backups, path: example}"}}},
	"backup-storage/no-place/5":             {{{value: "backups"}}},
	"backup-storage/no-place/6":             {{{value: "backups"}}},
	"backup-storage/no-place/7":             {{{at: "../serverSideEncryption", value: "aws:kms"}}},
	"backup-storage/no-place/8":             {{{value: "null"}}},
	"backup-storage/no-place/9":             {{{value: "backups"}}},
	"backup-storage/not-run/4":              {{{value: "S3"}}},
	"cronjob-allow-pileup":                  {{{at: "/spec.concurrencyPolicy", value: "`concurrencyPolicy`"}, {at: "/spec.jobTemplate.spec.activeDeadlineSeconds", value: "`activeDeadlineSeconds`"}}},
	"cronjob-dom-dow":                       {{{value: "0 3 * * 1"}}},
	"cronjob-impossible":                    {{{value: "0 3 28 2 *"}}},
	"cronjob-replace-starve":                {{{at: "/spec.concurrencyPolicy", value: "`concurrencyPolicy`"}, {at: "/spec.jobTemplate.spec.activeDeadlineSeconds", value: "`activeDeadlineSeconds`"}}, {{at: "/spec.jobTemplate.spec.activeDeadlineSeconds", value: "60"}, {at: "/spec.jobTemplate.spec.backoffLimit", value: "`backoffLimit`"}}},
	"cronjob-ttl-history":                   {{{}}},
	"cronjob-uneven-step":                   {{{value: `"*/30 * * * *"`}}, {{value: "0,45 * * * *"}}, {{value: `"@every 45m"`}}},
	"deploy-hidden-outage":                  {{{at: "/spec.strategy.rollingUpdate.maxSurge", value: "`maxSurge`"}, {at: "/spec.strategy.rollingUpdate.maxUnavailable", value: "`maxUnavailable`"}}},
	"deploy-hpa-replicas":                   {{{}}},
	"deploy-no-readiness/no-ports":          {{{at: "[0].readinessProbe", value: "`readinessProbe`"}}},
	"deploy-rwo-surge":                      {{{at: "/spec.strategy.type", value: "RollingUpdate"}, {at: "/spec.strategy.rollingUpdate.maxSurge", value: "`maxSurge`"}, {at: "/spec.strategy.rollingUpdate.maxUnavailable", value: "`maxUnavailable`"}}, {{at: "/spec.strategy", value: "`strategy`"}}},
	"ds-surge-hostport":                     {{{at: "/spec.updateStrategy.rollingUpdate.maxSurge", value: "`maxSurge`"}, {at: "/spec.updateStrategy.rollingUpdate.maxUnavailable", value: "`maxUnavailable`"}}},
	"etcd-auto-restore":                     {{{value: `"true"`}}, {{value: `"false"`}}},
	"etcd-auth-secret/missing":              {{{in: "new", value: "{apiVersion: v1, kind: Secret, metadata: {name: main-root}, type: kubernetes.io/basic-auth, stringData: {username: root, password: x}}"}}},
	"etcd-auth-secret/no-password":          {{{in: "Secret main-root", at: "/stringData.password", value: "x"}}},
	"etcd-auth-secret/other-user":           {{{in: "Secret main-root", at: "/stringData.username", value: "root"}}},
	"etcd-defragmentation/zone":             {{{at: "../timeZone", value: "`timeZone`"}}},
	"etcd-ignored-field":                    {{{}}},
	"etcd-reserved-env":                     {{{at: "/spec.pod.etcdEnv"}, {at: "/spec.pod.annotations"}}},
	"etcd-tls-secret":                       {{{in: "Secret server", at: "/stringData[server-ca.crt]", value: "x"}, {in: "new", value: "{apiVersion: v1, kind: Secret, metadata: {name: client}, stringData: {etcd-client.crt: x, etcd-client.key: x, etcd-client-ca.crt: x}}"}}},
	"ingress-backend/namespace":             {{{at: "/metadata.namespace", value: "other"}}},
	"job-backoff-vs-deadline":               {{{at: "../backoffLimit", value: "`backoffLimit`"}}, {{value: "86400"}}},
	"job-backoff-vs-deadline/a-great-many":  {{{at: "../backoffLimit", value: "`backoffLimit`"}}},
	"network-host-bits/behind-the-prefix/1": {{{value: "fd00::/64"}}},
	"job-manual-selector":                   {{{at: "/spec.manualSelector"}, {at: "/spec.selector"}}},
	"job-parallel-excess":                   {{{value: "3"}}},
	"job-zero-work":                         {{{value: "1"}}},
	"job-plain-sidecar/envoy":               {{{at: "/spec.template.spec.initContainers", value: "[{name: proxy, image: 'docker.io/envoyproxy/envoy:v1.30', restartPolicy: Always}]"}, {at: "/spec.template.spec.containers", value: "[{name: work, image: 'registry.example/work:1'}]"}}},
	"job-plain-sidecar":                     {{{at: "/spec.jobTemplate.spec.template.spec.initContainers", value: "[{name: logs, image: 'fluent/fluent-bit:4.0', restartPolicy: Always}]"}, {at: "/spec.jobTemplate.spec.template.spec.containers", value: "[{name: work, image: 'registry.example/work:1'}]"}}},
	"network-overlap":                       {{{at: "/spec.cidr", value: "`cidr`"}, {at: "/spec.gateway", value: "`gateway`"}}},
	"network-cluster-range":                 {{{at: "/spec.cidr", value: "`cidr`"}, {at: "/spec.gateway", value: "`gateway`"}}},
	"network-gateway/malformed":             {{{value: "10.0.0.1"}}, {{}}},
	"network-gateway/six":                   {{{value: `"fd00::1"`}}, {{}}},
	"pdb-blocks-drain":                      {{{at: "/spec.minAvailable"}, {at: "/spec.maxUnavailable", value: "`maxUnavailable`"}}},
	"pod-no-liveness":                       {{{at: "[0].livenessProbe", value: "`livenessProbe`"}}},
	"pod-security-baseline":                 {{{at: "hostPID"}, {at: "volumes"}, {at: "containers[0].ports"}, {at: "containers[0].securityContext"}}},
	"pod-security-restricted":               {{{at: "containers[0].securityContext", value: "`securityContext`"}}},
	"probe-identical":                       {{{at: "failureThreshold", value: "`failureThreshold`"}}},
	"rbac-exec":                             {{{at: "../", value: "[pods, pods/log]"}}},
	"restore-running":                       {{{at: "/metadata.annotations[etcd.usher.dev/replace-running-cluster]", value: `"true"`}}, {{value: "another"}}},
	"selector-overlap":                      {{{at: "/spec.selector.matchLabels[app.kubernetes.io/instance]", value: "a"}, {at: "/spec.template.metadata.labels[app.kubernetes.io/instance]", value: "a"}}},
	"service-selects-nothing":               {{{value: "`selector`"}}},
	"sts-headless":                          {{{value: "peers"}, {in: "new", value: "{apiVersion: v1, kind: Service, metadata: {name: peers}, spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}}"}}},
	"sts-name-52":                           {{{value: "web"}}},
}
