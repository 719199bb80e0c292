package reach_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/reach"
)

func TestParseDestinations_WhatIsWrongIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"minio.storage.svc:9000": "", "*.example.com:443": "", "10.0.0.1:9000": "", "10.1.0.0/16:9000": "", "10.1.0.0/16:*": "",
		"[fd00::1]:9000": "", "[fd00::/64]:*": "", "minio:9000": "", "[::ffff:10.0.0.1]:9000": "",
		"":                        "it has no port",
		"minio.storage.svc":       "it has no port",
		"10.1.0.0/16":             "it has no port",
		"minio.storage.svc:":      `"" is not a port`,
		"minio.storage.svc:0":     `"0" is not a port`,
		"minio.storage.svc:09000": `"09000" is not a port`,
		"minio.storage.svc:65536": `"65536" is not a port`,
		"minio.storage.svc:s3":    `"s3" is not a port`,
		"https://minio:9000":      "it has no port",
		"*:9000":                  `"*" is not a host`,
		"*.*.com:9000":            `"*.*.com" is not a host`,
		"a*.com:9000":             `"a*.com" is not a host`,
		"minio_1:9000":            `"minio_1" is not a host`,
		"127.1:9000":              `"127.1" is not a host`,
		"0x7f000001:9000":         `"0x7f000001" is not a host`,
		"10.1.0.1/16:9000":        "10.1.0.1/16 has bits outside of its mask: 10.1.0.0/16",
		"10.1.0.0/33:9000":        `"10.1.0.0/33" is not a CIDR`,
		"[::ffff:10.0.0.0/104]:1": "::ffff:10.0.0.0/104 is a mapped IPv4 address",
		"[10.0.0.1]:9000":         "only IPv6 is written in brackets",
		"fd00::1:9000":            "it has no port",
		"[fe80::1%eth0]:9000":     "fe80::1%eth0 has a zone",
		"minio:9000, other:9000":  "it has no port",
	} {
		_, err := reach.ParseDestinations([]string{text})
		switch {
		case (err == nil) != (want == ""):
			t.Errorf("%q: %v", text, err)
		case err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "write HOST:PORT")):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestRoute_Listed(t *testing.T) {
	for _, tc := range []struct {
		listed, host, resolved string
		want                   bool
	}{
		{"minio.storage.svc:9000", "minio.storage.svc:9000", "10.0.0.1:9000", true},
		{"minio.storage.svc:9000", "MINIO.storage.svc.:9000", "127.0.0.1:9000", true},
		{"minio.storage.svc:9000", "minio.storage.svc:22", "10.0.0.1:22", false},
		{"minio.storage.svc:*", "minio.storage.svc:22", "10.0.0.1:22", true},
		{"minio.storage.svc:9000", "evil.minio.storage.svc:9000", "10.0.0.1:9000", false},
		{"*.storage.svc:9000", "a.minio.storage.svc:9000", "10.0.0.1:9000", true},
		{"*.storage.svc:9000", "storage.svc:9000", "10.0.0.1:9000", false},
		{"*.storage.svc:9000", "evilstorage.svc:9000", "10.0.0.1:9000", false},
		{"10.0.0.1:9000", "any.example:9000", "10.0.0.1:9000", true},
		{"10.0.0.1:9000", "any.example:9000", "[::ffff:10.0.0.1]:9000", true},
		{"10.0.0.1:9000", "any.example:9000", "10.0.0.2:9000", false},
		{"10.0.0.0/24:9000", "any.example:9000", "10.0.0.255:9000", true},
		{"10.0.0.0/24:9000", "any.example:9000", "10.0.1.0:9000", false},
		{"10.0.0.0/24:9000", "any.example:9001", "10.0.0.1:9001", false},
		{"[fd00::/64]:9000", "any.example:9000", "[fd00::1]:9000", true},
		// A name that looks listed and leads elsewhere.
		{"10.0.0.1:9000", "10.0.0.1.example:9000", "10.0.0.2:9000", false},
		{"0.0.0.0/0:9000", "any.example:9000", "[64:ff9b::10.0.0.1]:9000", false},
	} {
		allowed, err := reach.ParseDestinations([]string{tc.listed})
		if err != nil {
			t.Fatal(err)
		}
		s := &reach.Stores{Reader: world.client, Allowed: allowed}
		err = s.Route("default", reach.Grace{}).Judge(t.Context(), tc.host, tc.resolved)
		if refused := (*reach.Refused)(nil); (err == nil) != tc.want || err != nil && !errors.As(err, &refused) {
			t.Errorf("with %s, %s at %s: %v", tc.listed, tc.host, tc.resolved, err)
		}
	}
}
