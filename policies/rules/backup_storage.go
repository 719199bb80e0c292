package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// backup-storage: a backup in a kind of place that backups are not kept in, or
// whose place is not written.
//
// S3 and what speaks it is where they are kept, or a PersistentVolumeClaim. ABS,
// GCS and OSS were, by other operators: GCS and OSS speak S3, too.
func init() {
	register(policies.Rule{
		ID:      "backup-storage",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A backup's storage type is not one that is run, or says nothing about where",
		Harm:    "nothing is saved, or restored",
		Fix:     "write S3, and s3.path and s3.awsSecret, for GCS and OSS with their S3 endpoint; or PersistentVolume, and persistentVolume.claimName and path",
		Check: onBackups(func(p *policies.Pass, kind *field.Path, b *backupSource) {
			switch b.storage {
			case v1beta2.BackupStorageS3:
				checkS3(p, b.source.S3)
			case v1beta2.BackupStorageVolume:
				checkVolume(p, b.source.PersistentVolume)
			case "":
				p.Report(kind, nil, subject(kind)+" is not set: write S3 or PersistentVolume")
			case v1beta2.BackupStorageGCS, v1beta2.BackupStorageOSS:
				p.Report(kind, b.storage, subject(kind)+" is "+string(b.storage)+", which is not spoken: write S3, with its S3 endpoint in s3.endpoint")
			case v1beta2.BackupStorageABS:
				p.Report(kind, b.storage, subject(kind)+" is "+string(b.storage)+", which is not run: write S3, with the endpoint of what speaks it in s3.endpoint")
			default:
				p.Report(kind, b.storage, subject(kind)+" is "+quoted(string(b.storage))+", which is no storage type: write S3 or PersistentVolume")
			}
		}),
	})
}

// checkS3 reports what is missing of a place in S3.
func checkS3(p *policies.Pass, source *v1beta2.S3Source) {
	switch path := field.NewPath("spec", "s3"); {
	case source == nil:
		p.Report(path, nil, "s3 is not set: write its path and awsSecret")
	case source.AWSSecret == "":
		p.Report(path.Child("awsSecret"), nil, "awsSecret is not set: write the name of a Secret with the keys credentials and config")
	default:
		named(p, path.Child("awsSecret"), source.AWSSecret)
	}
}

// checkVolume reports what is missing of a place on a claim.
func checkVolume(p *policies.Pass, source *v1beta2.VolumeSource) {
	switch path := field.NewPath("spec", "persistentVolume"); {
	case source == nil:
		p.Report(path, nil, "persistentVolume is not set: write its claimName and path")
	case source.ClaimName == "":
		p.Report(path.Child("claimName"), nil, "claimName is not set: write the name of a PersistentVolumeClaim of the namespace")
	default:
		named(p, path.Child("claimName"), source.ClaimName)
	}
}

// A backupSource is where an EtcdBackup saves to, or an EtcdRestore restores
// from.
type backupSource struct {
	storage v1beta2.BackupStorageType
	source  *v1beta2.BackupSource
}

// onBackups makes a check of both kinds; kind is the place of the storage type.
func onBackups(check func(p *policies.Pass, kind *field.Path, b *backupSource)) func(*policies.Pass) {
	return func(p *policies.Pass) {
		switch o := p.Typed.(type) {
		case *v1beta2.EtcdBackup:
			check(p, field.NewPath("spec", "storageType"), &backupSource{o.Spec.StorageType, &o.Spec.BackupSource})
		case *v1beta2.EtcdRestore:
			check(p, field.NewPath("spec", "backupStorageType"), &backupSource{o.Spec.BackupStorageType, &o.Spec.BackupSource})
		}
	}
}
