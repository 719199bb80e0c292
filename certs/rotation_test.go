package certs

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
)

var (
	begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	short = Lifetimes{CA: 90 * time.Hour, Serving: 30 * time.Hour, Overlap: time.Hour}
)

func authorityAt(t *testing.T, at time.Time) *authority {
	t.Helper()
	a, err := newAuthority(authorityName, at, short.CA)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// described formats a keyring with the names of its CAs.
func described(k *keyring, names map[*authority]string) string {
	name := func(c *x509.Certificate) string {
		for a, name := range names {
			if a.cert.Equal(c) {
				return name
			}
		}
		return "new"
	}
	out := name(k.current.cert)
	if k.next != nil {
		out += " next " + name(k.next.cert)
	}
	if k.previous != nil {
		out += " previous " + name(k.previous)
	}
	if !k.since.IsZero() {
		out += " since " + k.since.Sub(begin).String()
	}
	return out + ": " + k.phase()
}

func TestPlan(t *testing.T) {
	a, b := authorityAt(t, begin), authorityAt(t, begin.Add(2*time.Hour))
	names := map[*authority]string{a: "a", b: "b"}
	at := begin.Add
	both := certificates{a.cert, b.cert}
	tests := map[string]struct {
		stored, mine *keyring
		registered   certificates
		now          time.Duration
		want         string
	}{
		"the first replica makes a CA":                    {want: "new: stable"},
		"one takes the CA that is there":                  {stored: &keyring{current: a}, want: "a: stable"},
		"a deleted Secret is restored and the CA changed": {mine: &keyring{current: a}, want: "a next new: announcing"},
		"a Secret deleted during a change is restored as it was": {
			mine: &keyring{current: a, next: b, since: at(time.Minute)}, want: "a next b since 1m0s: announced",
		},
		"a CA is changed after two thirds of its life": {stored: &keyring{current: a}, now: 60 * time.Hour, want: "a next new: announcing"},
		"and not before":                        {stored: &keyring{current: a}, now: 60*time.Hour - time.Second, want: "a: stable"},
		"an expired CA is replaced at once":     {stored: &keyring{current: a}, now: 91 * time.Hour, want: "new: stable"},
		"an expired CA is replaced by the next": {stored: &keyring{current: a, next: b}, now: 91 * time.Hour, want: "b: stable"},
		"the next waits until it is registered": {
			stored: &keyring{current: a, next: b}, registered: certificates{a.cert}, now: 80 * time.Hour, want: "a next b: announcing",
		},
		"the overlap begins when the next is registered": {
			stored: &keyring{current: a, next: b}, registered: both, now: 61 * time.Hour, want: "a next b since 61h0m0s: announced",
		},
		"it goes on": {
			stored: &keyring{current: a, next: b, since: at(61 * time.Hour)}, registered: both, now: 62*time.Hour - time.Second,
			want: "a next b since 61h0m0s: announced",
		},
		"it restarts when the next CA was removed from the registration": {
			stored: &keyring{current: a, next: b, since: at(61 * time.Hour)}, registered: certificates{a.cert}, now: 63 * time.Hour,
			want: "a next b: announcing",
		},
		"then the next signs": {
			stored: &keyring{current: a, next: b, since: at(61 * time.Hour)}, registered: both, now: 62 * time.Hour,
			want: "b previous a since 62h0m0s: retiring",
		},
		"the previous stays for the overlap": {
			stored: &keyring{current: b, previous: a.cert, since: at(2 * time.Hour)}, now: 3*time.Hour - time.Second,
			want: "b previous a since 2h0m0s: retiring",
		},
		"and leaves":                          {stored: &keyring{current: b, previous: a.cert, since: at(2 * time.Hour)}, now: 3 * time.Hour, want: "b: stable"},
		"a lost time restarts the phase":      {stored: &keyring{current: b, previous: a.cert}, now: 3 * time.Hour, want: "b previous a since 3h0m0s: retiring"},
		"so does one far in the future":       {stored: &keyring{current: b, previous: a.cert, since: at(50 * time.Hour)}, now: time.Hour, want: "b previous a since 1h0m0s: retiring"},
		"another's clock may be a bit ahead":  {stored: &keyring{current: b, previous: a.cert, since: at(time.Minute)}, want: "b previous a since 1m0s: retiring"},
		"a replaced CA is taken for the next": {stored: &keyring{current: b}, mine: &keyring{current: a}, registered: certificates{a.cert}, want: "a next b: announcing"},
		"a replica left behind takes what is registered": {
			stored: &keyring{current: b}, mine: &keyring{current: a}, registered: certificates{b.cert}, want: "b: stable",
		},
		"a replaced CA is taken where nothing is registered": {stored: &keyring{current: b}, mine: &keyring{current: a}, want: "b: stable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := plan(test.stored, test.mine, test.registered, at(test.now), short)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, described(got, names)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			again, err := plan(got, got, test.registered, at(test.now), short)
			if err != nil {
				t.Fatal(err)
			}
			if test.stored != nil && again != got && again.phase() != "announcing" {
				t.Errorf("a second look changes it again, to %s", described(again, names))
			}
		})
	}
}

func TestAKeyringIsReadAsItWasWritten(t *testing.T) {
	a, b := authorityAt(t, begin), authorityAt(t, begin)
	names := map[*authority]string{a: "a", b: "b"}
	for _, k := range []*keyring{
		{current: a}, {current: a, next: b}, {current: a, next: b, since: begin.Add(time.Nanosecond)}, {current: a, previous: b.cert, since: begin},
	} {
		// Data of an earlier phase is removed.
		secret := &corev1.Secret{Data: map[string][]byte{nextCert: nil, nextKey: nil, previousCert: nil}}
		secret.Annotations = map[string]string{wellknown.AnnotationCAPhaseSince: "x", "example.com/kept": "y"}
		if err := k.write(secret); err != nil {
			t.Fatal(err)
		}
		got, err := parseKeyring(secret)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(described(k, names), described(got, names)); diff != "" {
			t.Errorf("keyring (-want +got):\n%s", diff)
		}
		if secret.Annotations["example.com/kept"] != "y" {
			t.Error("an annotation of another was lost")
		}
	}
}

func TestParseKeyring_InvalidSecret_NamesTheProblem(t *testing.T) {
	a := authorityAt(t, begin)
	leaf, err := a.issue([]string{"usher"}, begin, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*corev1.Secret)
		want   string
	}{
		"empty": {
			func(s *corev1.Secret) { s.Data = nil },
			"tls.crt and tls.key: tls: failed to find any PEM data in certificate input",
		},
		"no CA": {
			func(s *corev1.Secret) {
				_, key, _ := a.encode()
				s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = Encode(certificates{leaf.Leaf}), key
			},
			"tls.crt and tls.key: tls: private key does not match public key",
		},
		"a key alone": {
			func(s *corev1.Secret) { delete(s.Data, corev1.TLSCertKey) },
			"tls.crt and tls.key: tls: failed to find any PEM data in certificate input",
		},
		"truncated": {
			func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = s.Data[corev1.TLSCertKey][:100] },
			"tls.crt and tls.key: tls: failed to find any PEM data in certificate input",
		},
		"a certificate for a key": {
			func(s *corev1.Secret) { s.Data[corev1.TLSPrivateKeyKey] = s.Data[corev1.TLSCertKey] },
			"tls.crt and tls.key: tls: found a certificate rather than a key in the PEM for the private key",
		},
		"next without its key": {
			func(s *corev1.Secret) { s.Data[nextCert] = s.Data[corev1.TLSCertKey] },
			"next.crt and next.key: tls: failed to find any PEM data in key input",
		},
		"a broken previous": {
			func(s *corev1.Secret) { s.Data[previousCert] = []byte("x") },
			"previous.crt: holds no CA certificate in PEM: data does not contain any valid RSA or ECDSA certificates",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{}
			if err := (&keyring{current: a}).write(secret); err != nil {
				t.Fatal(err)
			}
			test.change(secret)
			_, err := parseKeyring(secret)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
