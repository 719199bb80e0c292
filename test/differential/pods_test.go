package differential

import "fmt"

// pod generates the specification of a pod or a pod template.
func (g *generator) pod(o object, restart ...string) {
	spec := into(o, "spec")
	if policy := g.pick(restart...); policy != "Always" || g.chance(0.2) {
		spec["restartPolicy"] = policy
	}
	names := []string{"app", "worker", "cache"}
	if g.chance(0.12) {
		names[0] = g.pick("envoy", "logs", "metrics") // as a template's
	}
	var containers []any
	for i := range 1 + g.IntN(3) {
		containers = append(containers, g.container(names[i], i, false))
	}
	if names[0] != "app" && g.chance(0.6) { // left to the template
		containers[0].(object)["image"] = "auto"
	}
	spec["containers"] = containers
	if g.chance(0.25) {
		spec["initContainers"] = []any{g.container(g.pick("prepare", "prepare", "setup"), 7, true)}
	}
	if g.chance(0.2) {
		spec["volumes"] = []any{g.volume(g.pick("data", "logs", "envoy"))}
		if g.chance(0.7) {
			mount := object{"name": nameOf(items(spec, "volumes")[0]), "mountPath": g.pick("/data", "/etc/envoy")}
			containers[0].(object)["volumeMounts"] = []any{mount}
		}
	}
	if g.chance(0.1) {
		spec["hostNetwork"] = true
		for _, list := range []string{"containers", "initContainers"} {
			for _, c := range items(spec, list) {
				for _, port := range items(c, "ports") {
					port["hostPort"] = port["containerPort"]
				}
			}
		}
	}
	g.set(spec, 0.2, "terminationGracePeriodSeconds", 0, 5, 30)
	g.set(spec, 0.1, "securityContext", object{"fsGroup": 1}, object{"runAsUser": 1000})
	g.set(spec, 0.1, "shareProcessNamespace", true, false)
	g.set(spec, 0.1, "hostPID", true)
	g.set(spec, 0.1, "automountServiceAccountToken", false)
	g.set(spec, 0.1, "imagePullSecrets", []any{object{"name": "registry"}})
	g.set(spec, 0.2, "hostAliases", []any{object{"ip": "10.0.0.1", "hostnames": []any{"one.local"}}}, []any{object{"ip": "10.0.0.9", "hostnames": []any{"registry.local"}}})
	if g.chance(0.3) {
		into(o, "metadata", "labels")["logs"] = g.pick("shipped", "kept", "dropped")
	}
}

func (g *generator) volume(name string) object {
	v := object{"name": name}
	switch g.IntN(3) {
	case 0:
		v["emptyDir"] = object{}
	case 1:
		v["configMap"] = object{"name": "sidecars"}
	case 2:
		v["persistentVolumeClaim"] = object{"claimName": "data"}
	}
	return v
}

// container generates the i-th container of a pod.
func (g *generator) container(name string, i int, init bool) object {
	c := object{"name": name, "image": g.pick("app:1", "app", "registry.example.com/app@sha256:1111111111111111111111111111111111111111111111111111111111111111")}
	port := 8080 + i
	if g.chance(0.4) {
		p := object{"containerPort": port}
		if g.chance(0.2) {
			p["hostPort"] = 9100 + i
		}
		c["ports"] = []any{p}
	}
	probe := func() object {
		return object{"httpGet": object{"path": "/" + g.pick("health", "ready"), "port": port}, "periodSeconds": 1 + g.IntN(3)*5, "failureThreshold": 1 + g.IntN(3)}
	}
	if !init {
		if g.chance(0.4) {
			c["livenessProbe"] = probe()
			if g.chance(0.3) {
				c["readinessProbe"] = clone(c["livenessProbe"].(object))
			}
		}
		if g.chance(0.3) {
			c["readinessProbe"] = probe()
		}
	}
	if g.chance(0.3) {
		c["resources"] = object{"requests": object{"cpu": "100m", "memory": "64Mi"}}
	}
	var env []any
	if g.chance(0.2) {
		env = append(env, object{"name": "MODE", "value": "fast"})
	}
	if g.chance(0.2) {
		env = append(env, object{"name": g.pick("JAVA_TOOL_OPTIONS", "HEAP"), "value": g.pick("-Xmx512m", "-Xmx1g -javaagent:/java/agent.jar", "large")})
	}
	if g.chance(0.05) {
		env = append(env, object{"name": "JAVA_TOOL_OPTIONS", "valueFrom": object{"configMapKeyRef": object{"name": "sidecars", "key": "java", "optional": true}}})
	}
	if len(env) > 0 {
		c["env"] = env
	}
	return c
}

// asks adds requests for templates and Networks to metadata, in every valid and
// invalid form.
func (g *generator) asks(metadata object) {
	annotations := into(metadata, "annotations")
	for _, of := range [][]string{{"port", "8443", "1024", "80"}, {"exclude", "9090", "9000-9010,22", ""}, {"level", "debug", "DEBUG"}, {"cpu", "100m", "1", "3"}} {
		if g.chance(0.15) {
			annotations["gateway.example.com/"+of[0]] = g.pick(of[1:]...)
		}
	}
	for _, of := range [][]string{{"heap", "small", "large", "vast"}, {"debug", "true", "false", "maybe"}} {
		if g.chance(0.15) {
			annotations["java.example.com/"+of[0]] = g.pick(of[1:]...)
		}
	}
	for range g.IntN(3) {
		prefix := g.pick("initializer.kubernetes.io/", "inject.usher.dev/")
		template := g.pick(g.known...)
		key, value := prefix+template, g.pick("true", "true", "true", "true", "false")
		if g.chance(0.15) {
			template = g.pick("ghost", "broken", "Envoy", "templates")
			key = prefix + template
		}
		if g.chance(0.06) {
			value = g.pick("yes", "True", "", "1")
		}
		if g.chance(0.06) {
			key = g.pick("initialiser.kubernetes.io/", "inject.usher.dev.", "usher.dev/") + template
		}
		annotations[key] = value
		if g.chance(0.08) {
			delete(annotations, key)
			into(metadata, "labels")[key] = "true"
		}
		if g.chance(0.15) {
			annotations["inject.usher.dev/"+template+"."+g.pick("image", "cpu", "memory", "memory-limit", "env.MODE", "colour")] = g.pick("100m", "64Mi", "envoy:2", "much")
		}
	}
	if g.chance(0.15) {
		annotations["inject.usher.dev/"+g.pick(g.known...)+".revision"] = g.pick("next", "next", "default", "ghost", "A.B")
	}
	if g.chance(0.15) {
		annotations["inject.usher.dev/"+g.pick("logs", "logs", "envoy")+".containers"] = g.pick("app", "app, worker", "prepare", "none", "")
	}
	if g.chance(0.05) {
		annotations["usher.dev/injected"] = g.pick("{", "null", `{}`, fmt.Sprintf(`{%q:{"version":"sha256:0000"}}`, g.pick(g.known...)),
			fmt.Sprintf(`{%q:{"version":"sha256:0000","containers":[%q]}}`, g.pick(g.known...), g.pick("app", "worker")))
	}
	if g.chance(0.04) {
		annotations["usher.dev/carried"] = "initializer.kubernetes.io/" + g.pick(g.known...)
	}
	if g.chance(0.15) {
		annotations["samplecrd.k8s.io/network"] = g.pick("blue", "green", "blue,green", "ghost", "Blue Sky", "blue,ghost", "")
		if g.chance(0.3) {
			annotations["k8s.v1.cni.cncf.io/networks"] = g.pick("blue", "other", `[{"name":"blue"}]`, "[")
		}
	}
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// derive generates scenes from the results of others: pods are copied, edited
// by others, restored after a template changed, and their records forged.
func (g *generator) derive(plays map[string]*played) []*scene {
	var derived []*scene
	for _, name := range sortedKeys(plays) {
		p := plays[name]
		if p.Object == nil || p.scene.kind() != "Pod" || p.scene.Earlier || !g.chance(0.6) {
			continue
		}
		record, _ := at(p.Object, "metadata", "annotations")["usher.dev/injected"].(string)
		if record == "" {
			continue
		}
		pod := normal(p.Object)
		pod = clone(pod)
		metadata := into(pod, "metadata")
		metadata["name"], metadata["namespace"] = name+"-copy", p.scene.Namespace
		g.edit(pod, p.scene.Object, record)
		derived = append(derived, &scene{Name: name + "-copy", Namespace: p.scene.Namespace, Object: pod})
	}
	return derived
}
