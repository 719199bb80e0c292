package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	template = "deploy/templates/envoy.yaml"
	asking   = "injector/testdata/myapp-pod.yaml"

	typo = `apiVersion: v1
kind: Pod
metadata:
  name: typo-pod
  annotations:
    initializer.kubernetes.io/envoi: "true"
spec:
  containers:
  - name: app
    image: busybox
`
	plain = `apiVersion: v1
kind: Pod
metadata:
  name: plain-pod
spec:
  containers:
  - name: app
    image: busybox
`
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  annotations:
    initializer.kubernetes.io/envoi: "true"
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: app, image: busybox}
`
)

// play tells the story.
func (s *stage) play(ctx context.Context) error {
	for _, scene := range []func(context.Context) error{s.injects, s.denies, s.warns, s.leavesAlone} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	s.say("Done; nothing is left running")
	return nil
}

func (s *stage) injects(ctx context.Context) error {
	s.say("The template: the ConfigMap envoy-initializer, in usher's namespace")
	out, err := s.run(ctx, "", "apply", "-n", "usher-system", "-f", template)
	fmt.Print(out)
	if err != nil {
		return err
	}
	came, err := os.ReadFile(asking)
	if err != nil {
		return err
	}
	s.say("What is asked for: kubectl apply -f myapp-pod.yaml")
	fmt.Print(string(came))
	if out, err = s.run(ctx, "", "apply", "-f", asking); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	stored, err := s.read(ctx, "get", "pod", "myapp-pod", "-o", "yaml")
	if err != nil {
		return err
	}
	s.say("What the API server stored, with what usher added marked +")
	return markAdded(came, stored)
}

func (s *stage) denies(ctx context.Context) error {
	s.say("A pod that asks for a template which does not exist is denied, and told why")
	out, err := s.run(ctx, typo, "apply", "-f", "-")
	fmt.Print(out)
	if err == nil || !strings.Contains(out, "template-missing") {
		return errors.New("the pod was not denied")
	}
	return nil
}

func (s *stage) warns(ctx context.Context) error {
	s.say("A Deployment whose pods will ask for it gets the warning at kubectl apply")
	out, err := s.run(ctx, deployment, "apply", "-f", "-")
	fmt.Print(out)
	if err != nil {
		return err
	}
	if !strings.Contains(out, "Warning:") {
		return errors.New("there was no warning")
	}
	return nil
}

func (s *stage) leavesAlone(ctx context.Context) error {
	before, err := s.decisions()
	if err != nil {
		return err
	}
	s.say("A pod that did not ask passes untouched, and injection never sees it")
	out, err := s.run(ctx, plain, "apply", "-f", "-")
	fmt.Print(out)
	if err != nil {
		return err
	}
	stored, err := s.read(ctx, "get", "pod", "plain-pod", "-o", "jsonpath={.spec.containers[*].name}{.metadata.annotations.usher\\.dev/injected}")
	if err != nil {
		return err
	}
	if string(stored) != "app" {
		return fmt.Errorf("the pod was touched: %s", stored)
	}
	after, err := s.decisions()
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("usher saw the pod:\n%s", cmp.Diff(before, after))
	}
	fmt.Println("Containers: app. What injection was asked, before and after it alike:")
	fmt.Print(after)
	return nil
}

// markAdded prints the stored pod's containers and volumes, and its record.
func markAdded(came, stored []byte) error {
	var before, after corev1.Pod
	if err := errors.Join(yaml.Unmarshal(came, &before), yaml.Unmarshal(stored, &after)); err != nil {
		return err
	}
	for key, value := range after.Annotations {
		if _, had := before.Annotations[key]; !had && strings.HasPrefix(key, "usher.dev/") {
			fmt.Printf("+ metadata.annotations[%s]: %s\n", key, value)
		}
	}
	had := map[string]bool{}
	for _, c := range before.Spec.Containers {
		had[c.Name] = true
	}
	for i := range after.Spec.Containers {
		c := &after.Spec.Containers[i]
		// The mounts of ServiceAccount admission are not part of the demo.
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.Name, "kube-api-access-") })
		if err := printItem("containers", c, had[c.Name]); err != nil {
			return err
		}
	}
	for i := range after.Spec.Volumes {
		if v := &after.Spec.Volumes[i]; !strings.HasPrefix(v.Name, "kube-api-access-") {
			if err := printItem("volumes", v, false); err != nil {
				return err
			}
		}
	}
	if len(after.Spec.Containers) == len(before.Spec.Containers) {
		return errors.New("nothing was injected")
	}
	return nil
}

func printItem(list string, item any, had bool) error {
	text, err := yaml.Marshal(item)
	if err != nil {
		return err
	}
	mark := "+ "
	if had {
		mark = "  "
	}
	fmt.Printf("%sspec.%s:\n", mark, list)
	for line := range strings.Lines(string(text)) {
		fmt.Printf("%s    %s", mark, line)
	}
	return nil
}

// say prints the heading of a step, bold on a terminal, with the time since the
// demo began.
func (s *stage) say(text string) {
	if info, err := os.Stdout.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Printf("\n== %6.1f s  %s\n", time.Since(s.began).Seconds(), text)
}
