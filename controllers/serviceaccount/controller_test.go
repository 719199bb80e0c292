package serviceaccount_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/serviceaccount"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
)

// cluster is a real API server with kube-controller-manager's aggregation of
// ClusterRoles, without which view is empty.
type cluster struct {
	*kubernetes.Clientset
	plane *controlplane.ControlPlane
}

var shared *cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	plane, err := controlplane.Shared(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = plane.Stop() }()
	stop, log, err := plane.StartControllerManager("clusterrole-aggregation-controller,serviceaccount-controller")
	if err != nil {
		fmt.Fprintln(os.Stderr, err, log)
		return 1
	}
	defer stop()
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = &cluster{clients, plane}
	return m.Run()
}

func (c *cluster) controller(t *testing.T) (stop func()) {
	t.Helper()
	running, err := ushercontroller.Start(context.WithoutCancel(t.Context()), c.plane, logr.Discard(), func(o *controllers.Options) {
		o.Controllers = []string{"serviceaccount"}
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	}
	return stop
}

func (c *cluster) namespace(t *testing.T, value string) string {
	t.Helper()
	var labels map[string]string
	if value != "" {
		labels = map[string]string{wellknown.LabelDefaultServiceAccount: value}
	}
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// label sets the namespace's label; "" removes it.
func (c *cluster) label(t *testing.T, namespace, value string) {
	t.Helper()
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, wellknown.LabelDefaultServiceAccount, text)
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func (c *cluster) untilBound(t *testing.T, namespace string) *rbacv1.RoleBinding {
	t.Helper()
	var b *rbacv1.RoleBinding
	until(t, "the RoleBinding is there", func(ctx context.Context) (found bool, err error) {
		b, err = c.RbacV1().RoleBindings(namespace).Get(ctx, serviceaccount.BindingName, metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	return b
}

func (c *cluster) untilUnbound(t *testing.T, namespace string) {
	t.Helper()
	until(t, "the RoleBinding is gone", func(ctx context.Context) (bool, error) {
		_, err := c.RbacV1().RoleBindings(namespace).Get(ctx, serviceaccount.BindingName, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

// untilTold waits for an Event on the namespace.
func (c *cluster) untilTold(t *testing.T, namespace, reason, note string) {
	t.Helper()
	until(t, "an Event says "+reason, func(ctx context.Context) (bool, error) {
		list, err := c.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return false, err
		}
		for _, e := range list.Items {
			if about(e, namespace) && strings.Contains(e.Note, note) {
				return true, nil
			}
		}
		return false, nil
	})
}

func about(e eventsv1.Event, namespace string) bool {
	return e.Regarding.Kind == "Namespace" && e.Regarding.Name == namespace
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// may checks the rights of the namespace's default ServiceAccount, with its
// token.
func (c *cluster) may(t *testing.T, namespace, verb, resource string) bool {
	t.Helper()
	token, err := c.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config)
	config.BearerToken = token.Status.Token
	asPod, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	err = asPod.CoreV1().RESTClient().Verb(strings.ToUpper(verb)).Namespace(namespace).Resource(resource).Do(t.Context()).Error()
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	review, reviewErr := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":default",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: resource, Namespace: namespace},
		},
	}, metav1.CreateOptions{})
	if reviewErr != nil {
		t.Fatal(reviewErr)
	}
	if review.Status.Allowed != (err == nil) {
		t.Errorf("the review of list %s says %t, the request %v", resource, review.Status.Allowed, err)
	}
	return err == nil
}

func TestTheDefaultServiceAccountOfALabelledNamespaceViewsItAndReadsNoSecrets(t *testing.T) {
	c := shared
	defer c.controller(t)()
	namespace := c.namespace(t, wellknown.View)
	got := c.untilBound(t, namespace)
	if diff := cmp.Diff(rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, got.RoleRef); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.untilTold(t, namespace, serviceaccount.ReasonBound, "may view")
	until(t, "the ServiceAccount is there and may list pods", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false, ignoreNotFound(err)
		}
		return c.may(t, namespace, "get", "pods"), nil
	})
	if c.may(t, namespace, "get", "secrets") {
		t.Error("it reads Secrets")
	}

	c.label(t, namespace, "")
	c.untilUnbound(t, namespace)
	c.untilTold(t, namespace, serviceaccount.ReasonUnbound, "no longer")
}

func TestALabelThatWentWhileTheControllerWasDownIsFollowed(t *testing.T) {
	c := shared
	stop := c.controller(t)
	gone, come := c.namespace(t, wellknown.View), c.namespace(t, "")
	c.untilBound(t, gone)
	stop()
	c.label(t, gone, "")
	c.label(t, come, wellknown.View)
	defer c.controller(t)()
	c.untilUnbound(t, gone)
	c.untilBound(t, come)
}

func TestAChangedBindingIsRestored(t *testing.T) {
	c := shared
	defer c.controller(t)()
	namespace := c.namespace(t, wellknown.View)
	want := c.untilBound(t, namespace)
	for name, change := range map[string]func(*rbacv1.RoleBinding) error{
		"its subjects": func(b *rbacv1.RoleBinding) error {
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:unauthenticated"})
			_, err := c.RbacV1().RoleBindings(namespace).Update(t.Context(), b, metav1.UpdateOptions{})
			return err
		},
		"its role": func(b *rbacv1.RoleBinding) error {
			if err := c.RbacV1().RoleBindings(namespace).Delete(t.Context(), b.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			changed := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Labels: b.Labels}, Subjects: b.Subjects, RoleRef: b.RoleRef}
			changed.RoleRef.Name = "edit"
			_, err := c.RbacV1().RoleBindings(namespace).Create(t.Context(), changed, metav1.CreateOptions{})
			return ignoreExists(err) // the controller was faster
		},
		"all of it": func(b *rbacv1.RoleBinding) error {
			return c.RbacV1().RoleBindings(namespace).Delete(t.Context(), b.Name, metav1.DeleteOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := change(c.untilBound(t, namespace)); err != nil {
				t.Fatal(err)
			}
			until(t, "it is as it was", func(ctx context.Context) (bool, error) {
				got, err := c.RbacV1().RoleBindings(namespace).Get(ctx, serviceaccount.BindingName, metav1.GetOptions{})
				return err == nil && got.RoleRef == want.RoleRef && cmp.Equal(got.Subjects, want.Subjects), ignoreNotFound(err)
			})
		})
	}
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func TestABindingThatUsherDidNotMakeIsLeftAlone(t *testing.T) {
	c := shared
	defer c.controller(t)()
	namespace := c.namespace(t, "")
	theirs := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: serviceaccount.BindingName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	theirs, err := c.RbacV1().RoleBindings(namespace).Create(t.Context(), theirs, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.label(t, namespace, wellknown.View)
	c.untilTold(t, namespace, serviceaccount.ReasonForeign, "usher did not create the RoleBinding")
	c.label(t, namespace, "")
	// A later change was also decided later.
	other := c.namespace(t, wellknown.View)
	c.untilBound(t, other)
	is, err := c.RbacV1().RoleBindings(namespace).Get(t.Context(), theirs.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, is); diff != "" {
		t.Errorf("-made +now:\n%s", diff)
	}
}

func TestAnUnknownLabelIsReportedAndGrantsNothing(t *testing.T) {
	c := shared
	defer c.controller(t)()
	namespace := c.namespace(t, wellknown.View)
	c.untilBound(t, namespace)
	c.label(t, namespace, "admin")
	c.untilTold(t, namespace, serviceaccount.ReasonUnknown, `"admin": write view`)
	c.untilUnbound(t, namespace)
}

func TestTheControllerMayBindNothingButView(t *testing.T) {
	c := shared
	defer c.controller(t)()
	for _, tc := range []struct {
		name  string
		right authorizationv1.ResourceAttributes
		want  bool
	}{
		{"binding view", authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "view"}, true},
		{"binding edit", authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "edit"}, false},
		{"binding cluster-admin", authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "cluster-admin"}, false},
		{"deleting another's RoleBinding", authorizationv1.ResourceAttributes{Verb: "delete", Group: rbacv1.GroupName, Resource: "rolebindings", Namespace: "default", Name: "other"}, false},
		{"granting rights it has not", authorizationv1.ResourceAttributes{Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: controlplane.ControllerUser, ResourceAttributes: &tc.right},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != tc.want {
				t.Errorf("allowed is %t, want %t", review.Status.Allowed, tc.want)
			}
		})
	}
}
