package differential

import (
	"fmt"
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
`,
	"gateway": `
labels: {gateway.example.com/owner: "${param.owner}"}
initContainers:
- {name: gateway-init, image: "gateway-init:3", args: ["--ports=${param.ports}", {omitEmpty: exclude, args: [--exclude, "${param.exclude}"]}], env: [{name: PROBES, value: "${param.probes}"}]}
containers:
- {name: gateway, image: "gateway:3", args: ["--level=${param.level}"], ports: [{containerPort: "${param.port}"}], resources: {requests: {cpu: "${param.cpu}"}}}
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
`}

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

func (g *generator) options() string {
	var lines []string
	add := func(chance float64, line string) {
		if g.chance(chance) {
			lines = append(lines, line)
		}
	}
	add(0.6, "native: "+g.pick("auto", "always", "never"))
	add(0.3, "hostNetwork: "+g.pick("allow", "skip"))
	add(0.25, g.pick("mandatory: true", "mandatory: true", "mandatory: true\ntolerate: [image, env]", "mandatory: true\noptOut: allow", "optOut: deny"))
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
		if name != "envoy" && g.chance(0.3) {
			continue // envoy always exists: without any template the command line reports that it does not know
		}
		data := object{"config": fragments[name]}
		options := g.options()
		if g.chance(0.2) {
			options += "\n" + g.match()
		}
		options += parameters[name]
		if options != "" {
			data["options"] = options
		}
		add(name, data)
		g.known = append(g.known, name)
	}
	if g.chance(0.4) {
		add("broken", clone(brokenData[g.IntN(len(brokenData))]))
	}
	for _, name := range g.known {
		if g.chance(0.3) {
			o := core("ConfigMap", name+"-next")
			into(o, "metadata", "labels")["usher.dev/revision-of"] = name
			into(o, "metadata", "labels")["usher.dev/revision"] = "next"
			o["data"] = object{"config": strings.ReplaceAll(fragments[name], "image: ", "image: next/"), "options": parameters[name]}
			made = append(made, o)
		}
	}
	if g.chance(0.25) { // a second ConfigMap for the same template
		name := g.pick(g.known...)
		o := core("ConfigMap", g.pick("a-", "z-")+name)
		into(o, "metadata", "labels")["usher.dev/template"] = name
		o["data"] = object{"config": strings.ReplaceAll(fragments[name], "image: ", "image: other/"), "options": parameters[name]}
		made = append(made, o)
	}
	return made
}
