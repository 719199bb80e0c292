package rules

import (
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-path: a path that is not bucket/key (S3) or dir/file
// (PersistentVolume).
//
// The bucket's name is part of a host name or of a URL; a key has at most 1,024
// bytes, and a periodic backup appends its revision and time. It also appends
// them to the name of a file, which has at most 255 bytes.
func init() {
	register(policies.Rule{
		ID:      "backup-path",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A backup path is not bucket/key (S3) or dir/file (PersistentVolume)",
		Harm:    "usher neither saves nor restores a backup",
		Fix:     "write `path: bucket/key` for S3 or `path: dir/file` for a PersistentVolume, without a leading or trailing slash",
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
				p.Report(at, path, "path is "+quoted(path)+", which is not bucket/key: write both, without a leading or trailing slash")
			case len(bucket) < 3 || len(bucket) > 63 || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Trim(bucket, ".-") != bucket:
				p.Report(at, path, "path begins with "+quoted(bucket)+", which is not a valid name of a bucket: write 3 to 63 lower-case letters, digits, dots and dashes")
			case len(key) > 950:
				p.Report(at, path, "path has a key of "+printed(len(key))+" bytes; S3 takes 1,024, and the revision and time are added: write at most 950")
			}
		}),
	})
}

// checkFile reports a path that leads out of a claim, or does not name a file
// on it.
func checkFile(p *policies.Pass, at *field.Path, text string) {
	parts := strings.Split(text, "/")
	switch last := parts[len(parts)-1]; {
	case text == "":
		p.Report(at, nil, "path is not set: write the path of a file on the claim, such as backups/example")
	case !fs.ValidPath(text) || text == ".":
		p.Report(at, text, "path is "+quoted(text)+", which is not the path of a file on the claim: write dir/file without . or .., and without a leading or trailing slash")
	case len(text) > 950 || slices.ContainsFunc(parts, func(part string) bool { return len(part) > 255 }) || len(last) > 180:
		p.Report(at, nil, "path is too long for a file name once the revision and time are added: write at most 180 bytes after the last slash, and 950 in total")
	case strings.ContainsFunc(text, unicode.IsControl) || strings.HasSuffix(last, ".partial") || strings.HasSuffix(last, ".about.json"):
		p.Report(at, text, "path is "+quoted(text)+", which usher keeps for files of its own: write another")
	}
}
