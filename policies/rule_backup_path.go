package policies

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// backup-path: a path that is no bucket and key.
//
// The bucket's name is part of a host name or of a URL; a key is 1,024 bytes at
// most, and a periodic backup adds its revision and time.
func init() {
	register(Rule{
		ID:      "backup-path",
		Level:   Invariant,
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A backup's path is no bucket and key",
		Harm:    "nothing is saved, or restored",
		Fix:     "write bucket/key, without a slash before it or at its end",
		Check: onBackups(func(p *Pass, _ *field.Path, b *backupSource) {
			if b.source.S3 == nil {
				return
			}
			at, path := field.NewPath("spec", "s3", "path"), b.source.S3.Path
			bucket, key, _ := strings.Cut(path, "/")
			switch {
			case path == "":
				p.Report(at, nil, "path is not set: write bucket/key")
			case strings.HasPrefix(path, "s3://"):
				p.Report(at, path, "path is "+quoted(path)+", a URL: write bucket/key without s3://")
			case bucket == "" || key == "" || strings.HasSuffix(key, "/"):
				p.Report(at, path, "path is "+quoted(path)+", which is not bucket/key: write both, without a slash before it or at its end")
			case len(bucket) < 3 || len(bucket) > 63 || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Trim(bucket, ".-") != bucket:
				p.Report(at, path, "path begins with "+quoted(bucket)+", which no bucket can be called: write 3 to 63 lower-case letters, digits, dots and dashes")
			case len(key) > 950:
				p.Report(at, path, "path has a key of "+printed(len(key))+" bytes; S3 takes 1,024, and the revision and time are added: write at most 950")
			}
		}),
	})
}
