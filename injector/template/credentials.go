package template

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// A Credential is a field of a template whose literal value looks like a
// credential. It never contains the value.
type Credential struct {
	// Field is its field in the ConfigMap.
	Field string
	// Statement names the value by its place, and says why it looks like one.
	Statement string
}

// A credentialPattern is what a credential itself looks like.
type credentialPattern struct {
	*regexp.Regexp
	sign string
}

// credentialPatterns are what the names of variables and flags with credentials,
// and credentials themselves, look like. Public keys are none.
type credentialPatterns struct {
	name, publicName, flag *regexp.Regexp
	signs                  []credentialPattern
}

// patterns compiles them when the first template is examined: they take a third of
// a megabyte, and most processes never need them.
var patterns = sync.OnceValue(func() credentialPatterns {
	return credentialPatterns{
		name:       regexp.MustCompile(`(?i)(^|[_.-])(passw(or)?d|passphrase|pwd|token|secret|credentials?|key)$|(api|access|secret|private|auth)(key|token)$|password$`),
		publicName: regexp.MustCompile(`(?i)public[_.-]?key$`),
		flag:       regexp.MustCompile(`^--?([A-Za-z0-9][A-Za-z0-9._-]*)(=(.*))?$`),
		signs: []credentialPattern{
			{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`), "contains a private key"},
			{regexp.MustCompile(`\bA(KIA|SIA)[0-9A-Z]{16}\b`), "contains an access key of AWS"},
			{regexp.MustCompile(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.`), "contains a JSON web token"},
			{regexp.MustCompile(`\bgh[opsur]_[A-Za-z0-9]{36}`), "contains a token of GitHub"},
			{regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@$]+@`), "contains a URL with a password"},
		},
	}
})

// Credentials lists the variables, arguments and commands of a template that
// look like credentials.
func (t *Template) Credentials() []Credential {
	var found []Credential
	for _, l := range []struct {
		name string
		list []Container
	}{{"containers", t.Containers}, {"initContainers", t.InitContainers}} {
		for i := range l.list {
			c, path := &l.list[i].Typed, fmt.Sprintf("%s%s[%d]", configField, l.name, i)
			in := "the container " + c.Name
			found = append(found, credentialsInEnv(path, in, c.Env)...)
			found = append(found, credentialsInArguments(path+".command", in, c.Command)...)
			found = append(found, credentialsInArguments(path+".args", in, c.Args)...)
		}
	}
	if t.App.typed != nil {
		found = append(found, credentialsInEnv(configField+"appContainers", "the pod's own containers", t.App.typed.Env)...)
	}
	return found
}

func credentialsInEnv(path, in string, env []corev1.EnvVar) []Credential {
	var found []Credential
	for i, e := range env {
		if sign := credential(e.Name, e.Value); sign != "" {
			found = append(found, Credential{
				fmt.Sprintf("%s.env[%d].value", path, i), fmt.Sprintf("the value of the variable %s in %s %s", e.Name, in, sign),
			})
		}
	}
	return found
}

// credentialsInArguments also reads flags, as in --token=VALUE and --token
// VALUE.
func credentialsInArguments(path, in string, arguments []string) []Credential {
	var found []Credential
	name := ""
	for i, text := range arguments {
		value := text
		if m := patterns().flag.FindStringSubmatch(text); m != nil {
			name, value = m[1], m[3]
		}
		if sign := credential(name, value); sign != "" {
			what := "an argument"
			if name != "" {
				what = "the value of the flag " + name
			}
			found = append(found, Credential{fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%s in %s %s", what, in, sign)})
		}
		if value != "" {
			name = "" // the flag has its value
		}
	}
	return found
}

// credential says why the value of a variable or flag looks like a credential;
// "" if it does not. A path, a reference to another variable and a boolean are
// none, whatever the name.
func credential(name, value string) string {
	for _, s := range patterns().signs {
		if s.MatchString(value) {
			return s.sign
		}
	}
	switch {
	case value == "" || value == "true" || value == "false",
		strings.HasPrefix(value, "/"), strings.HasPrefix(value, "./"), strings.Contains(value, "$"),
		!patterns().name.MatchString(name), patterns().publicName.MatchString(name):
		return ""
	}
	return "looks like a credential"
}
