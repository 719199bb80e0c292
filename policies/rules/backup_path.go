package rules

import (
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// backup-path: a path that is no bucket and key, or no file's on a claim.
//
// The bucket's name is part of a host name or of a URL; a key is 1,024 bytes at
// most, and a periodic backup adds its revision and time. So it does to the name
// of a file, which has 255 at most.
func init() {
	register(policies.Rule{
		ID:      "backup-path",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A backup's path is no bucket and key, or no file's on a claim",
		Harm:    "nothing is saved, or restored",
		Fix:     "write bucket/key, or folders and a file below the claim's root, without a slash before it or at its end",
		Check: onBackups(func(p *policies.Pass, _ *field.Path, b *backupSource) {
			if b.source.PersistentVolume != nil {
				checkFile(p, field.NewPath("spec", "persistentVolume", "path"), b.source.PersistentVolume.Path)
			}
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

// checkFile reports a path that leads out of a claim, or to no file of it.
func checkFile(p *policies.Pass, at *field.Path, text string) {
	parts := strings.Split(text, "/")
	switch last := parts[len(parts)-1]; {
	case text == "":
		p.Report(at, nil, "path is not set: write a file's on the claim, such as backups/example")
	case !fs.ValidPath(text) || text == ".":
		p.Report(at, text, "path is "+quoted(text)+", which is no file's on the claim: write folders and a file below its root, without a slash before it or at its end, or a folder . or .. in it")
	case len(text) > 950 || slices.ContainsFunc(parts, func(part string) bool { return len(part) > 255 }) || len(last) > 180:
		p.Report(at, nil, "path is longer than what a file can be called once the revision and time are added: write at most 180 bytes after the last slash, and 950 in all")
	case strings.ContainsFunc(text, unicode.IsControl) || strings.HasSuffix(last, ".partial") || strings.HasSuffix(last, ".about.json"):
		p.Report(at, text, "path is "+quoted(text)+", which is used beside backups: write another")
	}
}
