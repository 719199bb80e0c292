package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-storage: a backup has an unsupported storage type, or the fields of
// that type are not set.
//
// usher stores backups in S3-compatible stores or on a PersistentVolumeClaim.
// Other operators supported ABS, GCS and OSS; GCS and OSS are S3-compatible,
// too.
func init() {
	register(policies.Rule{
		ID:      "backup-storage",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A backup's storageType is not supported, or the fields of that type are not set",
		Harm:    "usher neither saves nor restores a backup",
		Fix:     "write `storageType: S3` with `s3.path` and either `s3.awsSecret` or `s3.serviceAccountName` (GCS and OSS work through their S3 endpoint), or `storageType: PersistentVolume` with `persistentVolume.claimName` and `persistentVolume.path`",
		Check: onBackups(func(p *policies.Pass, kind *field.Path, b *backupSource) {
			switch b.storage {
			case v1beta2.BackupStorageS3:
				checkS3(p, b.source.S3)
			case v1beta2.BackupStorageVolume:
				checkVolume(p, b.source.PersistentVolume)
			case "":
				p.Report(kind, nil, subject(kind)+" is not set: write S3 or PersistentVolume")
			case v1beta2.BackupStorageGCS, v1beta2.BackupStorageOSS:
				p.Report(kind, b.storage, subject(kind)+" is "+string(b.storage)+", which usher does not support: write S3, with its S3 endpoint in s3.endpoint")
			case v1beta2.BackupStorageABS:
				p.Report(kind, b.storage, subject(kind)+" is "+string(b.storage)+", which usher does not support: write S3, with the endpoint of an S3-compatible store in s3.endpoint")
			default:
				p.Report(kind, b.storage, subject(kind)+" is "+quoted(string(b.storage))+", which is not a storage type: write S3 or PersistentVolume")
			}
		}),
	})
}

// checkS3 reports missing fields of a place in S3.
func checkS3(p *policies.Pass, source *v1beta2.S3Source) {
	switch path := field.NewPath("spec", "s3"); {
	case source == nil:
		p.Report(path, nil, "s3 is not set: write its path, and awsSecret or serviceAccountName")
	case source.KMSKeyID != "" && source.ServerSideEncryption != v1beta2.EncryptKMS:
		p.Report(path.Child("kmsKeyID"), source.KMSKeyID, "kmsKeyID is set, and serverSideEncryption is not aws:kms: write serverSideEncryption: aws:kms, too")
	case source.AWSSecret != "" && source.ServiceAccountName != "":
		p.Report(path.Child("serviceAccountName"), source.ServiceAccountName, "serviceAccountName and awsSecret are set: remove one of them, because usher uses only one identity")
	case source.ServiceAccountName != "":
		named(p, path.Child("serviceAccountName"), source.ServiceAccountName)
	case source.AWSSecret == "":
		p.Report(path.Child("awsSecret"), nil, "awsSecret is not set: write the name of a Secret with the keys credentials and config, or serviceAccountName")
	default:
		named(p, path.Child("awsSecret"), source.AWSSecret)
	}
}

// checkVolume reports missing fields of a place on a claim.
func checkVolume(p *policies.Pass, source *v1beta2.VolumeSource) {
	switch path := field.NewPath("spec", "persistentVolume"); {
	case source == nil:
		p.Report(path, nil, "persistentVolume is not set: write its claimName and path")
	case source.ClaimName == "":
		p.Report(path.Child("claimName"), nil, "claimName is not set: write the name of a PersistentVolumeClaim in the namespace")
	default:
		named(p, path.Child("claimName"), source.ClaimName)
	}
}

// A backupSource is the destination of an EtcdBackup, or the source of an
// EtcdRestore.
type backupSource struct {
	storage v1beta2.BackupStorageType
	source  *v1beta2.BackupSource
}

// onBackups returns a check of both kinds; kind is the field of the storage
// type.
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
