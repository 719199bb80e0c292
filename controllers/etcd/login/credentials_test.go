package login_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/controllers/etcd/login"
)

const secretWord = "correct-horse"

func TestFromSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		data map[string]string
		want []login.Credentials
		says string
	}{
		"a user and a password":       {map[string]string{"username": "root", "password": secretWord}, []login.Credentials{{User: "root", Password: secretWord}}, ""},
		"root by default":             {map[string]string{"password": secretWord}, []login.Credentials{{User: "root", Password: secretWord}}, ""},
		"the previous password":       {map[string]string{"password": secretWord, "previous-password": "old"}, []login.Credentials{{User: "root", Password: secretWord}, {User: "root", Password: "old"}}, ""},
		"no password":                 {map[string]string{"username": "root"}, nil, "the Secret example has no password"},
		"only the previous password":  {map[string]string{"previous-password": secretWord}, nil, "the Secret example has no password"},
		"a line break":                {map[string]string{"password": secretWord + "\n"}, nil, "password in the Secret example has a line break"},
		"a line break in the old one": {map[string]string{"password": "new", "previous-password": secretWord + "\n"}, nil, "previous-password in the Secret example has a line break"},
		"a line break in the name":    {map[string]string{"username": "root\n", "password": secretWord}, nil, "username in the Secret example begins or ends with white space"},
		"72 bytes":                    {map[string]string{"password": strings.Repeat("x", 72)}, []login.Credentials{{User: "root", Password: login.Password(strings.Repeat("x", 72))}}, ""},
		"73 bytes":                    {map[string]string{"password": strings.Repeat("x", 73)}, nil, "more than 72 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Data: map[string][]byte{}}
			for key, value := range tc.data {
				secret.Data[key] = []byte(value)
			}
			got, err := login.FromSecret(secret)
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Fatalf("the error is %v, want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), secretWord) {
				t.Errorf("the error has the password: %v", err)
			}
			same := cmp.Comparer(func(a, b login.Password) bool { return a == b })
			if diff := cmp.Diff(tc.want, got, same); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCredentials_AreWrittenNowhere formats and logs them in every way.
func TestCredentials_AreWrittenNowhere(t *testing.T) {
	known := login.Credentials{User: "root", Password: secretWord}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", known, &known, known.Password)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("text", "credentials", known, "password", known.Password)
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "credentials", known, "password", known.Password)
	encoded, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	fmt.Fprint(&out, errors.Join(fmt.Errorf("%v", known)))
	if text := out.String(); strings.Contains(text, secretWord) || strings.Contains(text, fmt.Sprintf("%x", secretWord)) {
		t.Errorf("the password is in:\n%s", text)
	}
}
