package v1beta2

// A BackupStorageType selects where backups are stored. usher supports S3 and
// PersistentVolume.
//
// +kubebuilder:validation:MaxLength=32
type BackupStorageType string

// The storage types.
const (
	// BackupStorageS3: Amazon S3 or an S3-compatible store.
	BackupStorageS3 BackupStorageType = "S3"
	// BackupStorageABS: Azure Blob Storage, which usher does not support.
	BackupStorageABS BackupStorageType = "ABS"
	// BackupStorageGCS: Google Cloud Storage, which usher supports only through
	// S3.
	BackupStorageGCS BackupStorageType = "GCS"
	// BackupStorageOSS: Alibaba Cloud Object Storage Service, which usher supports
	// only through S3.
	BackupStorageOSS BackupStorageType = "OSS"
	// BackupStorageVolume: a PersistentVolumeClaim.
	BackupStorageVolume BackupStorageType = "PersistentVolume"
)

// BackupSource is the place of backups. Set only the field of the storage type.
type BackupSource struct {
	// S3 stores backups in an S3-compatible bucket.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`
	// ABS stores backups in Azure Blob Storage, which usher does not support.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`
	// GCS stores backups in Google Cloud Storage, which usher supports only
	// through s3.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`
	// OSS stores backups in Alibaba Cloud Object Storage Service, which usher
	// supports only through s3.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`
	// PersistentVolume stores backups on a PersistentVolumeClaim.
	// +optional
	PersistentVolume *VolumeSource `json:"persistentVolume,omitempty"`
}

// StorageType returns the type of the first field that is set, or "".
func (s *BackupSource) StorageType() BackupStorageType {
	switch {
	case s.S3 != nil:
		return BackupStorageS3
	case s.PersistentVolume != nil:
		return BackupStorageVolume
	case s.ABS != nil:
		return BackupStorageABS
	case s.GCS != nil:
		return BackupStorageGCS
	case s.OSS != nil:
		return BackupStorageOSS
	}
	return ""
}

// S3Source is a place in an S3-compatible bucket. Set either awsSecret or
// serviceAccountName.
//
// +kubebuilder:validation:XValidation:rule="has(self.awsSecret) != has(self.serviceAccountName)",message="write either awsSecret, the name of a Secret with credentials, or serviceAccountName, the name of a ServiceAccount with the rights"
type S3Source struct {
	// Path is bucket/key, such as backups/example. For periodic backups the key is
	// a prefix.
	Path string `json:"path"`
	// AWSSecret is the name of the Secret with the keys credentials and config, in
	// the format of the AWS CLI with the profile default.
	// +optional
	AWSSecret string `json:"awsSecret,omitempty"`
	// ServiceAccountName is the name of a ServiceAccount in the same namespace
	// whose identity in the cloud has the rights to the bucket (AWS IRSA, or EKS
	// Pod Identity). A pod of usher under this ServiceAccount connects to the store
	// while a backup or restore needs it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Region is the bucket's region, such as eu-central-1. The default is that in
	// the Secret's key config, or that of the ServiceAccount's pod, or us-east-1.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Region string `json:"region,omitempty"`
	// Endpoint is the URL of an S3-compatible store, such as
	// https://storage.googleapis.com. The default is AWS.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// ForcePathStyle puts the bucket into the path of the URL instead of the host
	// name.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// ServerSideEncryption lets the store encrypt backups: AES256 with its own
	// keys, or aws:kms with a key of its key management service. The default is
	// the bucket's. An EtcdRestore does not need it.
	// +optional
	ServerSideEncryption ServerSideEncryption `json:"serverSideEncryption,omitempty"`
	// KMSKeyID is the key for aws:kms, such as
	// arn:aws:kms:eu-central-1:111122223333:key/backups. The default is the store's.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// ServerSideEncryption is how a store encrypts objects.
//
// +kubebuilder:validation:Enum=AES256;"aws:kms"
type ServerSideEncryption string

// The ways of encryption.
const (
	// EncryptAES256: with keys of the store.
	EncryptAES256 ServerSideEncryption = "AES256"
	// EncryptKMS: with a key of the store's key management service.
	EncryptKMS ServerSideEncryption = "aws:kms"
)

// ABSSource is a place in Azure Blob Storage.
type ABSSource struct {
	// Path is container/key.
	Path string `json:"path"`
	// ABSSecret is the name of the Secret with the keys storage-account and
	// storage-key.
	ABSSecret string `json:"absSecret"`
}

// GCSSource is a place in Google Cloud Storage.
type GCSSource struct {
	// Path is bucket/key.
	Path string `json:"path"`
	// GCPSecret is the name of the Secret with the key access-token or
	// credentials.json.
	// +optional
	GCPSecret string `json:"gcpSecret,omitempty"`
}

// OSSSource is a place in Alibaba Cloud Object Storage Service.
type OSSSource struct {
	// Path is bucket/key.
	Path string `json:"path"`
	// OSSSecret is the name of the Secret with the keys accessKeyID and
	// accessKeySecret.
	OSSSecret string `json:"ossSecret"`
	// Endpoint is the URL of the region's endpoint.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// VolumeSource is a place on a PersistentVolumeClaim.
type VolumeSource struct {
	// ClaimName is the name of a PersistentVolumeClaim in the same namespace. A
	// pod of usher mounts it while a backup or restore needs it.
	ClaimName string `json:"claimName"`
	// Path is the path of a file on the claim, such as backups/example. For
	// periodic backups it is a prefix.
	Path string `json:"path"`
}
