package apiserver

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/verdict"
)

// TestEveryRowOfTheFieldsIsRead finds each field that is still there in the Go
// type of its row, where a supported kind contains it.
func TestEveryRowOfTheFieldsIsRead(t *testing.T) {
	rows := 0
	for line := range strings.Lines(fieldHistory) {
		if !strings.HasPrefix(line, "#") {
			rows++
		}
	}
	types := map[string]map[string]reflect.Type{}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		types[typ.PkgPath()+"."+typ.Name()] = jsonFields(typ)
		for i := range typ.NumField() {
			walk(typ.Field(i).Type)
		}
	}
	for _, kind := range servedKinds(Newest) {
		walk(reflect.TypeOf(example(kind)))
	}
	for name, fields := range lifetimes() {
		for field, life := range fields {
			rows--
			if life.added == 0 && life.removed == 0 || life.added > Newest || life.removed > Newest {
				t.Errorf("%s.%s: it is in %+v", name, field, life)
			}
			of, known := types[name]
			if _, there := of[field]; known && there != (life.removed == 0) {
				t.Errorf("%s.%s: the row says removed in %d, and the type has it: %t", name, field, life.removed, there)
			}
		}
	}
	if rows != 0 || len(types) < 100 {
		t.Errorf("%d rows were not read; %d types", rows, len(types))
	}
}

const newPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostnameOverride":"b","containers":[` +
	`{"name":"c","image":"i"},{"name":"d","image":"i","env":[{"name":"E","valueFrom":{"fileKeyRef":{"volumeName":"v","path":"p","key":"k"}}}]}],"volumes":[{"name":"v","emptyDir":{}}]}}`

func TestValidate_AFieldThatTheVersionLacks_IsUnknown(t *testing.T) {
	for server, want := range map[string][]string{
		"1.33": {"unknown-field spec.containers[1].env[0].valueFrom.fileKeyRef", "unknown-field spec.hostnameOverride"},
		// In 1.34 the fields exist, behind feature gates that are off.
		"1.34": {"container-env spec.containers[1].env[0].valueFrom"},
		"1.37": nil,
	} {
		if diff := cmp.Diff(want, found(t, server, newPod)); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", server, diff)
		}
	}
}

// TestValidate_AFieldWhoseGateIsOff_IsDropped has fields of embedded structs.
func TestValidate_AFieldWhoseGateIsOff_IsDropped(t *testing.T) {
	got := found(t, "1.37", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"volumes":[{"name":"v","emptyDir":{"mode":448}}],"containers":[`+
		`{"name":"c","image":"i","readinessProbe":{"httpGet":{"port":80,"protocol":"HTTP2"}}}]}}`)
	want := []string{"dropped-field spec.volumes[0].emptyDir.mode", "dropped-field spec.containers[0].readinessProbe.httpGet.protocol"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestValidate_AFieldThatTheServerWritesElsewhere_IsNotDropped has the field of a
// Secret that the server moves into data.
func TestValidate_AFieldThatTheServerWritesElsewhere_IsNotDropped(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret := verdict.Object{APIVersion: "v1", Kind: "Secret", JSON: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"key":"value"}}`)}
	if got := v.Validate(secret, nil, &verdict.Facts{}); len(got) > 0 {
		t.Errorf("findings %v", got)
	}
}

// TestValidate_AFieldThatOnlyTheVersionHas_IsNotUnknown has the field of 1.30 and
// its successor.
func TestValidate_AFieldThatOnlyTheVersionHas_IsNotUnknown(t *testing.T) {
	const claims = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}],"resourceClaims":[{"name":"r","source":{"resourceClaimName":"x"}}]}}`
	got := found(t, "1.30", claims)
	if !cmp.Equal(got, []string{"dropped-field spec.resourceClaims[0].source", "dropped-field spec.resourceClaims"}) {
		t.Errorf("1.30: %v", got)
	}
	if got := found(t, "1.31", claims); !cmp.Equal(got, []string{"unknown-field spec.resourceClaims[0].source"}) {
		t.Errorf("1.31: %v", got)
	}
}

func TestValidate_AServerThatIsNewerThanKnown_MayHaveMore(t *testing.T) {
	const futures = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"tomorrow":1,"containers":[{"name":"c","image":"i","more":true}]}}`
	v := of138(t)
	for _, o := range []verdict.Object{
		{APIVersion: "v1", Kind: "Pod", JSON: []byte(futures)},
		{APIVersion: "batch/v1", Kind: "Jobs", JSON: []byte(`{"apiVersion":"batch/v1","kind":"Jobs"}`)},
	} {
		if got := v.Validate(o, nil, &verdict.Facts{}); len(got) > 0 {
			t.Errorf("%s: %v", o.Kind, got)
		}
	}
	const want = "not validated, because Kubernetes 1.38 may have them and usher does not know them: Jobs in batch/v1, Pod spec.containers[].more, Pod spec.tomorrow"
	if got := v.Unjudged(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := found(t, "1.37", futures); len(got) != 2 {
		t.Errorf("1.37: %v", got)
	}
}

func of138(t *testing.T) *Validator {
	t.Helper()
	v, err := New(Options{Server: version.MajorMinor(1, Newest+1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reset(t, nil) })
	return v
}

// found is what usher finds in a pod for a server, as rule and field.
func found(t *testing.T, server, raw string) (got []string) {
	t.Helper()
	v, err := New(Options{Server: version.MustParseGeneric(server)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reset(t, nil) })
	for _, f := range v.Validate(verdict.Object{APIVersion: "v1", Kind: "Pod", JSON: []byte(raw)}, nil, &verdict.Facts{}) {
		got = append(got, f.Rule+" "+f.Field)
	}
	return got
}
