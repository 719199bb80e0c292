package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// startOrders are templates, and whether pods with them hang.
func TestStartOrder(t *testing.T) {
	const (
		conf    = "volumes: [{name: conf, emptyDir: {}}]\n"
		mount   = "volumeMounts: [{name: conf, mountPath: /etc/side}]"
		read    = "volumeMounts: [{name: conf, mountPath: /etc/side, readOnly: true}]"
		probe   = "startupProbe: {httpGet: {path: /ready, port: 9000}}"
		prep    = "initContainers: [{name: prep, image: p, " + mount + "}]\n"
		side    = "containers: [{name: side, image: s, " + mount + ", " + probe + "}]\n"
		reading = "containers: [{name: side, image: s, " + read + ", " + probe + "}]\n"
	)
	tests := map[string]struct {
		config, options string
		want            string // part of the warning; "" for none
	}{
		// These hang, or start without what they need.
		"an init container prepares what the sidecar's startup probe needs": {conf + prep + side, "", "the container side uses the volume conf and starts before the container prep, which writes it: the pod does not start if its startup probe needs"},
		"in every pod":                                     {conf + prep + side, "native: always", "write options.place: first"},
		"where the cluster supports it":                    {conf + prep + side, "native: preferred", "write options.place: first"},
		"the sidecar only reads":                           {conf + prep + reading, "", "in pods that get its containers as native sidecars, the container side"},
		"the sidecar only reads, without a probe":          {conf + prep + "containers: [{name: side, image: s, " + read + "}]", "native: always", "it starts without what the other one writes"},
		"the author writes the native sidecar himself":     {conf + "initContainers: [{name: prep, image: p, " + mount + "}, {name: side, image: s, restartPolicy: Always, " + mount + ", " + probe + "}]", "", "the container side uses the volume conf"},
		"an init container reads what a later one writes":  {conf + "initContainers: [{name: read, image: p, " + read + "}, {name: write, image: w, " + mount + "}]", "", "write write before it"},
		"with a probed sidecar in between":                 {conf + "initContainers: [{name: read, image: p, " + read + "}, {name: side, image: s, restartPolicy: Always, " + probe + "}, {name: write, image: w, " + mount + "}]", "place: first", "a native sidecar with a startup probe stands between"},
		"an init container reads what a sidecar writes":    {conf + "initContainers: [{name: read, image: p, " + read + "}]\ncontainers: [{name: side, image: s, " + mount + "}]", "native: never", "as ordinary containers, the container read uses the volume conf"},
		"two sidecars, the later one writes":               {conf + "containers: [{name: read, image: p, " + read + ", " + probe + "}, {name: write, image: w, " + mount + "}]", "native: always", "the container read uses the volume conf"},
		"a volume without a source is an emptyDir":         {"volumes: [{name: conf}]\n" + prep + side, "", "the container side"},
		"a redirection before ordinary sidecars":           {"initContainers: [{name: redirect, image: r, securityContext: {capabilities: {add: [NET_ADMIN]}}}]\ncontainers: [{name: proxy, image: p}]", "place: first", "they may have no network"},
		"a privileged init container before ordinary ones": {"initContainers: [{name: redirect, image: r, securityContext: {privileged: true}}]\ncontainers: [{name: proxy, image: p}]", "{place: first, native: never}", "write options.native: preferred"},

		// These start.
		"place: first":                              {conf + prep + side, "place: first", ""},
		"place: last":                               {conf + prep + side, "{place: last, native: always}", ""},
		"never native":                              {conf + prep + side, "native: never", ""},
		"a sidecar without a probe may wait":        {conf + prep + "containers: [{name: side, image: s, " + mount + "}]", "", ""},
		"the sidecar writes, the init reads":        {conf + "initContainers: [{name: use, image: p, " + read + "}]\n" + side, "native: always", ""},
		"no shared volume":                          {conf + prep + "containers: [{name: side, image: s, " + probe + "}]", "native: always", ""},
		"a ConfigMap":                               {"volumes: [{name: conf, configMap: {name: c}}]\n" + prep + side, "native: always", ""},
		"an image volume":                           {"volumes: [{name: conf, image: {reference: r}}]\n" + prep + reading, "native: always", ""},
		"a volume that only one container mounts":   {conf + reading, "native: always", ""},
		"nobody writes":                             {conf + "initContainers: [{name: prep, image: p, " + read + "}]\n" + reading, "native: always", ""},
		"ordinary sidecars start at once":           {conf + "containers: [{name: read, image: p, " + read + "}, {name: write, image: w, " + mount + "}]", "native: never", ""},
		"an earlier init container writes, too":     {conf + "initContainers: [{name: prep, image: p, " + mount + "}, {name: read, image: r, " + read + "}, {name: more, image: m, " + mount + "}]", "", ""},
		"two native sidecars, the first one writes": {conf + "containers: [{name: write, image: w, " + mount + "}, {name: read, image: p, " + read + ", " + probe + "}]", "native: always", ""},
		"two native sidecars that both write":       {conf + "containers: [{name: a, image: w, " + mount + ", " + probe + "}, {name: b, image: p, " + mount + "}]", "native: always", ""},
		"the author's own order, sidecar first":     {conf + "initContainers: [{name: side, image: s, restartPolicy: Always, " + mount + ", " + probe + "}, {name: use, image: u, " + mount + "}]", "", ""},
		"only init containers in order":             {conf + "initContainers: [{name: prep, image: p, " + mount + "}, {name: use, image: u, " + read + "}]", "", ""},
		"only the application reads":                {conf + prep + "appContainers: {" + read + "}", "", ""},
		"a redirection with native sidecars":        {"initContainers: [{name: redirect, image: r, securityContext: {capabilities: {add: [NET_ADMIN, NET_RAW]}}}]\ncontainers: [{name: proxy, image: p}]", "{place: first, native: preferred}", ""},
		"a redirection behind the pod's own":        {"initContainers: [{name: redirect, image: r, securityContext: {capabilities: {add: [NET_ADMIN]}}}]\ncontainers: [{name: proxy, image: p}]", "", ""},
		"a redirection without a sidecar":           {"initContainers: [{name: redirect, image: r, securityContext: {capabilities: {add: [NET_ADMIN]}}}]", "place: first", ""},
		"place: first without rights":               {"initContainers: [{name: init, image: r}]\ncontainers: [{name: proxy, image: p}]", "place: first", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tpl, err := Parse("side", map[string]string{ConfigKey: tc.config, OptionsKey: tc.options})
			if err != nil {
				t.Fatal(err)
			}
			switch got := strings.Join(tpl.StartOrder(), "\n"); {
			case tc.want == "" && got != "":
				t.Errorf("warned: %s", got)
			case !strings.Contains(got, tc.want):
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}

// TestStartOrder_WarnsOfTemplatesThatHang reads the templates that the end-to-end tests
// run on a node.
func TestStartOrder_WarnsOfTemplatesThatHang(t *testing.T) {
	text, err := os.ReadFile("testdata/startorder.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Templates []struct {
			Name            string
			Options, Config map[string]any
			Hangs           string
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	hang := 0
	for _, tc := range table.Templates {
		data := map[string]string{}
		for key, value := range map[string]map[string]any{ConfigKey: tc.Config, OptionsKey: tc.Options} {
			if text, err = yaml.Marshal(value); err != nil {
				t.Fatal(err)
			}
			data[key] = string(text)
		}
		tpl, err := Parse(tc.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(tpl.StartOrder(), "\n")
		switch {
		case tc.Hangs == "" && warnings != "":
			t.Errorf("%s starts, but usher warns: %s", tc.Name, warnings)
		case tc.Hangs != "" && !strings.Contains(warnings, "the container "+tc.Hangs+" uses the volume conf"):
			t.Errorf("%s hangs in the container %s, but usher warns %q", tc.Name, tc.Hangs, warnings)
		}
		if tc.Hangs != "" {
			hang++
		}
	}
	if start := len(table.Templates) - hang; hang != 10 || start != 20 {
		t.Errorf("%d templates hang and %d start, want 10 and 20", hang, start)
	}
}

func TestStartOrder_ShippedTemplatesStart(t *testing.T) {
	files, err := filepath.Glob("../../deploy/templates/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cm corev1.ConfigMap
		if err := yaml.UnmarshalStrict(text, &cm); err != nil {
			t.Fatal(err)
		}
		tpl, err := Parse(NameOf(cm.Name, cm.Labels), cm.Data)
		if err != nil {
			t.Fatal(err)
		}
		if lines := tpl.StartOrder(); len(lines) > 0 {
			t.Errorf("%s: %v", file, lines)
		}
	}
}
