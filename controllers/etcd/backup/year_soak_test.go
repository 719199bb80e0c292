//go:build soak

package backup_test

func init() { *hours, *years = 365*24, 50 }
