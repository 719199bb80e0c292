package v1beta2

// A BackupStorageType is a kind of place backups are kept in.
//
// +kubebuilder:validation:MaxLength=32
type BackupStorageType string

// The kinds of places.
const (
	// BackupStorageS3: an S3 bucket, or what speaks S3.
	BackupStorageS3 BackupStorageType = "S3"
	// BackupStorageABS: Azure Blob Storage.
	BackupStorageABS BackupStorageType = "ABS"
	// BackupStorageGCS: Google Cloud Storage.
	BackupStorageGCS BackupStorageType = "GCS"
	// BackupStorageOSS: Alibaba's Object Storage Service.
	BackupStorageOSS BackupStorageType = "OSS"
	// BackupStorageVolume: a PersistentVolumeClaim.
	BackupStorageVolume BackupStorageType = "PersistentVolume"
)

// BackupSource says where backups are; the member of the storage type is set.
type BackupSource struct {
	// S3 is a place in S3.
	// +optional
	S3 *S3Source `json:"s3,omitempty"`
	// ABS is a place in Azure Blob Storage.
	// +optional
	ABS *ABSSource `json:"abs,omitempty"`
	// GCS is a place in Google Cloud Storage.
	// +optional
	GCS *GCSSource `json:"gcs,omitempty"`
	// OSS is a place in Alibaba's Object Storage Service.
	// +optional
	OSS *OSSSource `json:"oss,omitempty"`
	// PersistentVolume is a place on a claim.
	// +optional
	PersistentVolume *VolumeSource `json:"persistentVolume,omitempty"`
}

// StorageType is the kind of the first place that is set; empty where none is.
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

// S3Source is a place in S3.
type S3Source struct {
	// Path is bucket/key. A periodic backup's key is a prefix.
	Path string `json:"path"`
	// AWSSecret is the Secret with the keys credentials and config, in the
	// format of AWS' own files, profile default.
	AWSSecret string `json:"awsSecret"`
	// Endpoint is the URL of what speaks S3, where that is not AWS.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// ForcePathStyle puts the bucket into the path instead of the host name.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
}

// ABSSource is a place in Azure Blob Storage.
type ABSSource struct {
	// Path is container/key.
	Path string `json:"path"`
	// ABSSecret is the Secret with the keys storage-account and storage-key.
	ABSSecret string `json:"absSecret"`
}

// GCSSource is a place in Google Cloud Storage.
type GCSSource struct {
	// Path is bucket/key.
	Path string `json:"path"`
	// GCPSecret is the Secret with the key access-token or credentials.json.
	// +optional
	GCPSecret string `json:"gcpSecret,omitempty"`
}

// OSSSource is a place in Alibaba's Object Storage Service.
type OSSSource struct {
	// Path is bucket/key.
	Path string `json:"path"`
	// OSSSecret is the Secret with the keys accessKeyID and accessKeySecret.
	OSSSecret string `json:"ossSecret"`
	// Endpoint is the region's.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// VolumeSource is a place on a PersistentVolumeClaim.
type VolumeSource struct {
	// ClaimName is the claim's, in the same namespace. A pod mounts it for as long
	// as it is needed.
	ClaimName string `json:"claimName"`
	// Path is a file's on it, below the claim's root; a periodic backup's is a
	// prefix.
	Path string `json:"path"`
}
