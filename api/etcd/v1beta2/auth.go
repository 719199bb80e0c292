package v1beta2

// AuthPolicy configures etcd's authentication.
type AuthPolicy struct {
	// Enabled enables etcd's authentication, or disables it. etcd then refuses
	// clients that are not logged in as one of its users.
	Enabled bool `json:"enabled"`
	// RootSecret is the name of the Secret with the password of etcd's user root,
	// of the type kubernetes.io/basic-auth: username is root, and password the
	// password, such as that of example-root. After a change of password usher
	// changes that of root. previous-password is optional: the password that root
	// still has, if usher cannot know it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RootSecret string `json:"rootSecret"`
}
