package differential

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// fragments are the contents of templates, by name.
var fragments = map[string]string{
	"envoy": `
containers:
- name: envoy
  image: envoyproxy/envoy:v1.36.0
  args: [--config-path, /etc/envoy/envoy.yaml]
  ports: [{containerPort: 15001}]
  resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 128Mi}}
  volumeMounts: [{name: envoy, mountPath: /etc/envoy}]
volumes:
- {name: envoy, configMap: {name: sidecars}}
`,
	"logs": `
containers:
- name: logs
  image: fluent/fluent-bit:4.2.0
  env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
  volumeMounts: [{name: logs, mountPath: /var/log/app}]
volumes:
- {name: logs, emptyDir: {}}
labels: {logs: shipped}
annotations: {logs.example.com/format: json}
appContainers:
  env: [{name: LOG_DIR, value: /var/log/app}, {name: MODE, value: quiet}]
  envFrom: [{configMapRef: {name: sidecars}}]
  volumeMounts: [{name: logs, mountPath: /var/log/app}, {name: logs, mountPath: /data, subPath: data}]
`,
	"setup": `
initContainers:
- {name: setup, image: busybox:1.37, command: [sh, -c, "echo ready"]}
- {name: proxy, image: proxy:2, restartPolicy: Always, readinessProbe: {httpGet: {path: /, port: 8080}}}
imagePullSecrets: [{name: registry}]
hostAliases: [{ip: 10.0.0.1, hostnames: [registry.local]}]
`,
	"metrics": `
containers:
- {name: metrics, image: "exporter:1", ports: [{containerPort: 9100, hostPort: 9100}]}
- {name: metrics-push, image: "push:1"}
terminationGracePeriodSeconds: 20
securityContext: {fsGroup: 2000}
`,
	// It uses the same host port.
	"trace": `
containers:
- {name: trace, image: "trace:1", ports: [{containerPort: 9100, hostPort: 9100}]}
`,
	// It has a container of the same name.
	"mesh": `
containers:
- {name: envoy, image: "mesh:3"}
labels: {logs: kept}
terminationGracePeriodSeconds: 40
shareProcessNamespace: true
dnsConfig: {searches: [mesh.local]}
`,
	"gateway": `
labels: {gateway.example.com/owner: "${param.owner}"}
initContainers:
- {name: gateway-init, image: "gateway-init:3", args: ["--ports=${param.ports}", {omitEmpty: exclude, args: [--exclude, "${param.exclude}"]}], env: [{name: PROBES, value: "${param.probes}"}]}
containers:
- {name: gateway, image: "gateway:3", args: ["--level=${param.level}"], ports: [{containerPort: "${param.port}"}], resources: {requests: {cpu: "${param.cpu}"}}}
`,
	"java": `
labels: {java.example.com/heap: "${param.heap}"}
annotations: {java.example.com/of: "${param.of}"}
initContainers:
- {name: java-agent, image: "java-agent:${param.tag}", volumeMounts: [{name: java, mountPath: /java}]}
appContainers:
  env: [{name: JAVA_TOOL_OPTIONS, value: "-javaagent:/java/agent.jar"}, {name: HEAP, value: "${param.heap}"}, {name: DEBUG, value: "${param.debug}"}]
  volumeMounts: [{name: java, mountPath: /java, readOnly: true}]
volumes:
- {name: java, emptyDir: {}}
`,
}

// parameters are those of the fragments that name some. They suit mandatory
// templates, too.
var parameters = map[string]string{"gateway": `
parameters:
- {name: port, type: int, min: 1024, max: 65535, default: 15006, overridable: true, from: [{annotation: gateway.example.com/port}]}
- {name: exclude, type: ports, omitEmpty: true, overridable: true, pattern: "[0-9,-]*", from: [{annotation: gateway.example.com/exclude}]}
- {name: level, default: info, overridable: true, pattern: "[a-z]{1,9}", from: [{annotation: gateway.example.com/level}, {label: logs}]}
- {name: cpu, type: quantity, default: 10m, min: 1m, max: "2", overridable: true, from: [{annotation: gateway.example.com/cpu}]}
- {name: owner, default: none, from: [{fact: ownerName}]}
- {name: ports, type: ports, from: [{fact: containerPorts}]}
- {name: probes, type: ports, from: [{fact: probePorts}]}
`, "java": `
parameters:
- {name: heap, type: enum, values: [small, large], default: small, overridable: true, from: [{annotation: java.example.com/heap}, {namespaceAnnotation: java.example.com/heap}]}
- {name: tag, maxLength: 20, default: v1, from: [{namespaceAnnotation: java.example.com/tag}]}
- {name: debug, type: bool, omitEmpty: true, overridable: true, from: [{annotation: java.example.com/debug}]}
- {name: of, from: [{fact: ownerKind}], default: none}
`}

// policies are options.onConflict for the fragments with items that a pod may have.
var policies = map[string][]string{
	"logs": {
		`{env: {MODE: keep, LOG_DIR: deny}, labels: {logs: keep}}`, `{env: {MODE: {append: ","}}, labels: {"*": deny}}`,
		`{env: {"*": keep}, annotations: {"*": keep}}`, `{labels: {logs: keep}}`,
	},
	"setup":   {`{hostAliases: {registry.local: keep}}`, `{hostAliases: {"*": deny}}`},
	"mesh":    {`{labels: {logs: keep}}`, `{labels: {logs: deny}}`},
	"gateway": {`{labels: {"*": keep}}`},
	"java":    {`{env: {JAVA_*: {append: " "}}}`, `{env: {"*": keep, JAVA_TOOL_OPTIONS: {append: " "}}}`, `{env: {HEAP: deny}, labels: {"*": keep}}`},
}

// brokenData are invalid templates.
var brokenData = []object{
	{},
	{"config": ""},
	{"config": "containers: [{name: broken, imag: x}]"},
	{"config": "containers: [{name: Broken_, image: x}]"},
	{"config": "containers: {"},
	{"config": "containers: [{name: broken, image: x}]", "options": "native: sometimes"},
	{"config": "containers: [{name: broken, image: x}]", "options": "nativ: auto"},
	{"config": "containers: [{name: broken, image: x, volumeMounts: [{name: none, mountPath: /x}]}]"},
}

// options generates those of a fragment. A template comes only after others with
// later names, so there are no cycles.
func (g *generator) options(name string, others []string) string {
	var lines []string
	add := func(chance float64, line string) {
		if g.chance(chance) {
			lines = append(lines, line)
		}
	}
	add(0.6, "native: "+g.pick("auto", "always", "never", "preferred"))
	add(0.4, "place: "+g.pick("first", "first", "last"))
	if later := slices.IndexFunc(others, func(other string) bool { return other > name }); later >= 0 {
		add(0.3, "after: ["+g.pick(others[later:]...)+"]")
	}
	add(0.3, "hostNetwork: "+g.pick("allow", "skip"))
	if of := policies[name]; len(of) > 0 && g.chance(0.5) {
		lines = append(lines, "onConflict: "+g.pick(of...)) // which no mandatory template has
	} else {
		add(0.35, g.pick("mandatory: true", "mandatory: true", "mandatory: true\ntolerate: [image, env]", "mandatory: true\noptOut: allow", "optOut: deny"))
	}
	add(0.5, "overrides: "+g.pick("[image]", "[cpu, memory]", "[env]", "[image, cpu, memory, env]"))
	return strings.Join(lines, "\n")
}

// match selects pods without any request. Templates that are applied while
// usher runs have none: the files show them to every object, the cluster to
// none.
func (g *generator) match() string {
	return "match: " + g.pick(
		"{namespaceSelector: {matchLabels: {team: a}}}",
		"{namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}, kinds: [Deployment, Pod]}",
		"{podSelector: {matchLabels: {logs: shipped}}}",
		"{podSelector: {matchExpressions: [{key: logs, operator: In, values: [kept, dropped]}]}, kinds: [Job, StatefulSet]}",
		"{podSelector: {matchExpressions: [{key: logs, operator: DoesNotExist}]}, namespaceSelector: {matchLabels: {team: b}}}")
}

// templates generates the ConfigMaps of a batch: some of the fragments, with
// both kinds of names, and sometimes invalid ones.
func (g *generator) templates() []object {
	var made []object
	add := func(name string, data object) {
		o := core("ConfigMap", name+"-initializer")
		if g.chance(0.2) {
			o = core("ConfigMap", fmt.Sprintf("labelled-%s", name))
			into(o, "metadata", "labels")["usher.dev/template"] = name
		}
		o["data"] = data
		made = append(made, o)
	}
	for _, name := range sortedKeys(fragments) {
		if name == "envoy" || !g.chance(0.3) { // without any template the command line reports that it does not know
			g.known = append(g.known, name)
		}
	}
	for _, name := range g.known {
		data := object{"config": fragments[name]}
		options := g.options(name, g.known)
		if g.chance(0.2) {
			options += "\n" + g.match()
		}
		options += parameters[name]
		if options != "" {
			data["options"] = options
		}
		add(name, data)
	}
	if g.chance(0.4) {
		add("broken", clone(brokenData[g.IntN(len(brokenData))]))
	}
	for _, name := range g.known {
		if g.chance(0.3) {
			o := core("ConfigMap", name+"-next")
			into(o, "metadata", "labels")["usher.dev/revision-of"] = name
			into(o, "metadata", "labels")["usher.dev/revision"] = "next"
			o["data"] = object{"config": from(fragments[name], "next"), "options": parameters[name]}
			made = append(made, o)
		}
	}
	if g.chance(0.25) { // a second ConfigMap for the same template
		name := g.pick(g.known...)
		o := core("ConfigMap", g.pick("a-", "z-")+name)
		into(o, "metadata", "labels")["usher.dev/template"] = name
		o["data"] = object{"config": from(fragments[name], "other"), "options": parameters[name]}
		made = append(made, o)
	}
	return made
}

// from changes the registry of a fragment's images.
func from(fragment, registry string) string {
	return image.ReplaceAllString(fragment, "${1}"+registry+"/")
}

var image = regexp.MustCompile(`(image: "?)`)
