package preview

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/verdict"
)

// An apiServer has a number of Deployments, or of pods, in each of some namespaces,
// and serves them in pages.
type apiServer struct {
	client.Reader
	namespaces, each int
	pods             bool
	// served runs after each page.
	served func(pages int)
	pages  int
}

func (s *apiServer) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	var metadata func() *metav1.ObjectMeta
	served := 0
	switch list := list.(type) {
	case *appsv1.DeploymentList:
		if s.pods {
			return nil
		}
		metadata = func() *metav1.ObjectMeta {
			var d appsv1.Deployment
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app"}}
			list.Items = append(list.Items, d)
			return &list.Items[len(list.Items)-1].ObjectMeta
		}
	case *corev1.PodList:
		if !s.pods {
			return nil
		}
		metadata = func() *metav1.ObjectMeta {
			list.Items = append(list.Items, corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}})
			return &list.Items[len(list.Items)-1].ObjectMeta
		}
	default:
		return nil
	}
	from, _ := strconv.Atoi(o.Continue)
	for i := from; i < s.namespaces*s.each; i++ {
		namespace := fmt.Sprintf("ns-%d", i/s.each)
		if o.Namespace != "" && o.Namespace != namespace {
			continue
		}
		if int64(served) == o.Limit {
			list.SetContinue(strconv.Itoa(i))
			break
		}
		served++
		m := metadata()
		m.Namespace, m.Name = namespace, fmt.Sprint("web-", i)
	}
	if s.pages++; s.served != nil {
		s.served(s.pages)
	}
	return nil
}

// Gather implements facts.Source, and Renew, too. The survey has its own World.
func (s *apiServer) Gather(ctx context.Context, r facts.Request) (*verdict.Facts, error) {
	return (&verdict.World{Configuration: config.Default()}).About(nil, r.Steps), ctx.Err()
}

func (s *apiServer) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}

func parsed(t *testing.T, options string) *template.Template {
	t.Helper()
	parsed, err := template.Parse("side", map[string]string{template.ConfigKey: "containers: [{name: side, image: 'side:1'}]", template.OptionsKey: options})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestRun_EndsAtItsLimits counts what it has seen until the time is over or the
// number of objects is reached, and says so.
func TestRun_EndsAtItsLimits(t *testing.T) {
	every := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("ns-", i))
		}
		return names
	}
	for name, tc := range map[string]struct {
		server     apiServer
		namespaces []string
		limit      int
		ends       int // after how many pages the time is over; 0 for never
		workloads  int
		unread     error
		pages      int // at most
	}{
		"all of them":                      {server: apiServer{namespaces: 3, each: 60}, namespaces: every(3), limit: 1000, workloads: 180, pages: 6},
		"the selected namespaces":          {server: apiServer{namespaces: 3, each: 60}, namespaces: []string{"ns-1"}, limit: 1000, workloads: 60, pages: 2},
		"many namespaces in one list":      {server: apiServer{namespaces: 40, each: 2}, namespaces: every(30), limit: 1000, workloads: 60, pages: 2},
		"the limit of a namespace":         {server: apiServer{namespaces: 1, each: 500}, namespaces: every(1), limit: 120, workloads: 120, unread: cluster.ErrLimit, pages: 3},
		"the limit of several namespaces":  {server: apiServer{namespaces: 5, each: 100}, namespaces: every(5), limit: 120, workloads: 120, unread: cluster.ErrLimit, pages: 4},
		"the limit of all namespaces":      {server: apiServer{namespaces: 40, each: 10}, namespaces: every(30), limit: 120, workloads: 120, unread: cluster.ErrLimit, pages: 3},
		"the limit after the last object":  {server: apiServer{namespaces: 3, each: 60, pods: true}, namespaces: every(3), limit: 60, workloads: 60, unread: cluster.ErrLimit, pages: 2},
		"the end of the time in a list":    {server: apiServer{namespaces: 1, each: 500}, namespaces: every(1), limit: 1000, ends: 3, workloads: 100, unread: context.Canceled, pages: 3},
		"the end of the time in the first": {server: apiServer{namespaces: 3, each: 10}, namespaces: every(3), limit: 1000, ends: 1, workloads: 0, unread: context.Canceled, pages: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := tc.server
			server.served = func(pages int) {
				if pages == tc.ends {
					cancel()
				}
			}
			survey := Survey{Source: &server, World: &verdict.World{Configuration: config.Default()}, Objects: cluster.NewLister(&server, time.Minute), Limit: tc.limit}
			found, err := survey.Run(ctx, parsed(t, "match: {namespaceSelector: {}}"), tc.namespaces, nil)
			if err != nil {
				t.Fatal(err)
			}
			if found.Workloads != tc.workloads || found.By[Gets] != tc.workloads {
				t.Errorf("%d workloads, %v, want %d", found.Workloads, found.By, tc.workloads)
			}
			if err := errors.Join(found.Unread...); !errors.Is(err, tc.unread) || (tc.unread == nil) != (err == nil) {
				t.Errorf("unread: %v, want %v", err, tc.unread)
			}
			if server.pages > tc.pages {
				t.Errorf("read %d pages, want at most %d", server.pages, tc.pages)
			}
		})
	}
}

// TestRun_HealIsNew says that workloads restart whose running pods it did not read.
func TestRun_HealIsNew(t *testing.T) {
	const match = "match: {namespaceSelector: {}}"
	for name, tc := range map[string]struct {
		before string // options, or "" for no template
		now    string
		want   []string
	}{
		"new":           {match, match + "\nheal: true", []string{"options.heal is new, so usher also restarts the workloads whose running pods lack the template; usher drift -A lists them"}},
		"as before":     {match + "\nheal: true", match + "\nheal: true", nil},
		"off":           {match + "\nheal: true", match, nil},
		"of a template": {"", match + "\nheal: true", []string{"of 1 existing workloads, the next pods of 1 will get it; options.heal will restart 1"}},
	} {
		server := &apiServer{namespaces: 1, each: 1}
		world := &verdict.World{Configuration: config.Default()}
		if tc.before != "" {
			world.Templates = injector.NewSet(map[string]injector.Entry{"side": {Template: parsed(t, tc.before)}})
		}
		survey := Survey{Source: server, World: world, Objects: cluster.NewLister(server, time.Minute), Limit: 10}
		found, err := survey.Run(t.Context(), parsed(t, tc.now), []string{"ns-0"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, found.Statements()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
