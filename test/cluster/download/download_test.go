package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const platform = "linux/amd64"

// archived is an archive with files of these names, whose content is their name.
func archived(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, name := range names {
		if err := files.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(name))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// served is a source whose server answers with an archive, and how often it did.
func served(t *testing.T, archive []byte, status int) (source, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if want := "/envtest-" + Version + "/envtest-" + Version + "-linux-amd64.tar.gz"; r.URL.Path != want {
			t.Errorf("asked for %s, want %s", r.URL.Path, want)
		}
		w.WriteHeader(status)
		_, _ = w.Write(archive)
	}))
	t.Cleanup(server.Close)
	sum := sha512.Sum512(archive)
	return source{server.URL, map[string]string{platform: hex.EncodeToString(sum[:])}}, &asked
}

func TestProgramsAreFetchedOnce(t *testing.T) {
	s, asked := served(t, archived(t, "controller-tools/envtest/etcd", "controller-tools/envtest/kube-apiserver", "controller-tools/envtest/kubectl", "../../evil"), http.StatusOK)
	cache := t.TempDir()
	if folder := kept(cache, platform); folder != "" {
		t.Errorf("an empty cache has %s", folder)
	}
	for range 2 {
		folder, err := s.programs(t.Context(), cache, platform)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(folder, "kube-apiserver"))
		if err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("%v, %v: want a program", info, err)
		}
		if kept(cache, platform) != folder {
			t.Error("it is not kept")
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache has %v, %v; want one folder", entries, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(cache), "evil")); err == nil {
		t.Error("a file outside the cache was written")
	}
}

func TestProgramsAreNotUsed(t *testing.T) {
	whole := archived(t, "etcd", "kube-apiserver", "kubectl")
	for name, tt := range map[string]struct {
		archive  []byte
		status   int
		pin      string
		platform string
		err      string
	}{
		"of another hash":          {whole, http.StatusOK, strings.Repeat("0", 128), platform, "not the pinned"},
		"if the server has none":   {whole, http.StatusNotFound, "", platform, "404 Not Found"},
		"if one is missing":        {archived(t, "etcd", "kubectl"), http.StatusOK, "", platform, "lacks one of"},
		"if it is not an archive":  {[]byte("moved"), http.StatusOK, "", platform, "unpacking"},
		"for an unknown platform":  {whole, http.StatusOK, "", "plan9/amd64", "plan9/amd64: no programs are published"},
		"if an archive is cut off": {whole[:len(whole)-20], http.StatusOK, "", platform, "unpacking"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t, tt.archive, tt.status)
			if tt.pin != "" {
				s.pinned[platform] = tt.pin
			}
			cache := t.TempDir()
			if _, err := s.programs(t.Context(), cache, tt.platform); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
			if entries, err := os.ReadDir(cache); err != nil || len(entries) != 0 {
				t.Errorf("the cache has %v, %v", entries, err)
			}
		})
	}
}

func TestTheHashesAreThoseOfPlatforms(t *testing.T) {
	for platform, hash := range pinned {
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha512.Size {
			t.Errorf("%s: %q is not a SHA-512 hash", platform, hash)
		}
	}
	if len(pinned) != 4 {
		t.Errorf("there are %d platforms", len(pinned))
	}
}
