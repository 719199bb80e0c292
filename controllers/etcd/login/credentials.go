package login

import (
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// Root is etcd's user with every right, and the role of that name.
const Root = "root"

// PreviousPassword is the key of a Secret with the password that a user still has.
const PreviousPassword = "previous-password"

// longest is the maximum length of a password in bytes: bcrypt takes no more.
const longest = 72

// A Password is a password, which no log and no message shows.
type Password string

// String implements fmt.Stringer.
func (Password) String() string { return "[concealed]" }

// GoString implements fmt.GoStringer.
func (Password) GoString() string { return "[concealed]" }

// Format implements fmt.Formatter, for every verb.
func (p Password) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(p.String())) }

// MarshalText implements encoding.TextMarshaler.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Credentials are the name and the password of a user of etcd.
type Credentials struct {
	User     string
	Password Password
}

// FromSecret reads credentials from a Secret of the type kubernetes.io/basic-auth,
// and after them those with the previous password, if there are any. The user is
// root unless the Secret names another. Its errors have no word of the content.
func FromSecret(secret *corev1.Secret) ([]Credentials, error) {
	user := string(secret.Data[corev1.BasicAuthUsernameKey])
	if user == "" {
		user = Root
	}
	if user != strings.TrimSpace(user) {
		return nil, fmt.Errorf("%s in the Secret %s begins or ends with white space: remove it, as with `echo -n`", corev1.BasicAuthUsernameKey, secret.Name)
	}
	var all []Credentials
	for _, key := range []string{corev1.BasicAuthPasswordKey, PreviousPassword} {
		password := string(secret.Data[key])
		switch {
		case password == "" && key == PreviousPassword:
			continue
		case password == "":
			return nil, fmt.Errorf("the Secret %s has no %s: write the password there", secret.Name, key)
		case strings.ContainsFunc(password, unicode.IsControl):
			return nil, fmt.Errorf("%s in the Secret %s has a line break or another control character: remove it, as with `echo -n`", key, secret.Name)
		case len(password) > longest:
			return nil, fmt.Errorf("%s in the Secret %s has more than %d bytes: write a shorter one, since etcd takes no longer one", key, secret.Name, longest)
		}
		all = append(all, Credentials{user, Password(password)})
	}
	return all, nil
}
