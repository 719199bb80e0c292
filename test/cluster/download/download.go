// Package download gets the control plane's programs that the Kubernetes project
// publishes for tests with envtest, so that a first start takes no build.
package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Offline is the variable that forbids downloads.
const Offline = "USHER_OFFLINE"

// Version is the version of Kubernetes whose programs are pinned: the latest one
// that is published.
const Version = "v1.36.2"

// pinned are the SHA-512 hashes of the archives by platform, from
// https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml.
var pinned = map[string]string{
	"darwin/amd64": "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
	"darwin/arm64": "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
	"linux/amd64":  "ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08",
	"linux/arm64":  "2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac",
}

const (
	published = "https://github.com/kubernetes-sigs/controller-tools/releases/download"
	// answerWithin is how long the server has to begin its answer.
	answerWithin = 5 * time.Second
	// fetchWithin is how long an archive may take, of 60 to 80 MB.
	fetchWithin = 3 * time.Minute
	// largest is more than any archive, and than all of its programs.
	largest = 1 << 30
)

// ErrUnpublished means that no programs are published for this platform.
var ErrUnpublished = errors.New("no programs are published for this platform")

// A source is a server of archives, with the hashes of those that are accepted.
type source struct {
	url    string
	pinned map[string]string
}

// Programs returns the folder of etcd, kube-apiserver and kubectl for this
// platform, which it keeps in the user's cache folder. The error is ErrUnpublished,
// or says why the server's answer was not used.
func Programs(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return source{published, pinned}.programs(ctx, filepath.Join(cache, "usher", "envtest"), runtime.GOOS+"/"+runtime.GOARCH)
}

// Kept returns the folder that Programs returned before, or "".
func Kept() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return kept(filepath.Join(cache, "usher", "envtest"), runtime.GOOS+"/"+runtime.GOARCH)
}

func folderOf(cache, platform string) string {
	return filepath.Join(cache, Version+"-"+strings.ReplaceAll(platform, "/", "-"))
}

func kept(cache, platform string) string {
	if folder := folderOf(cache, platform); isComplete(folder) {
		return folder
	}
	return ""
}

var programs = []string{"etcd", "kube-apiserver", "kubectl"}

func isComplete(folder string) bool {
	return !slices.ContainsFunc(programs, func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err != nil
	})
}

func (s source) programs(ctx context.Context, cache, platform string) (string, error) {
	if folder := kept(cache, platform); folder != "" {
		return folder, nil
	}
	hash, ok := s.pinned[platform]
	if !ok {
		return "", fmt.Errorf("%s: %w", platform, ErrUnpublished)
	}
	archive, err := s.fetch(ctx, platform)
	if err != nil {
		return "", err
	}
	if sum := sha512.Sum512(archive); hex.EncodeToString(sum[:]) != hash {
		return "", fmt.Errorf("the archive for %s has the SHA-512 hash %x, not the pinned %s: it is not used", platform, sum, hash)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Under another name until it is complete, so that an interrupted download
	// leaves nothing that looks so.
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := unpack(archive, partial); err != nil {
		return "", fmt.Errorf("unpacking the archive for %s: %w", platform, err)
	}
	if !isComplete(partial) {
		return "", fmt.Errorf("the archive for %s lacks one of %q", platform, programs)
	}
	folder := folderOf(cache, platform)
	if err := os.Rename(partial, folder); err != nil && !isComplete(folder) { // another process was faster
		return "", err
	}
	return folder, nil
}

// fetch returns the archive for a platform.
func (s source) fetch(ctx context.Context, platform string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	url := fmt.Sprintf("%s/envtest-%s/envtest-%[2]s-%s.tar.gz", s.url, Version, strings.ReplaceAll(platform, "/", "-"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerWithin}).DialContext,
		TLSHandshakeTimeout: answerWithin, ResponseHeaderTimeout: answerWithin,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	archive, err := io.ReadAll(io.LimitReader(response.Body, largest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return archive, nil
}

// unpack writes the programs of an archive into a folder, whatever folders they are
// in there.
func unpack(archive []byte, folder string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	files := tar.NewReader(io.LimitReader(unzipped, largest))
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !slices.Contains(programs, name) {
			continue
		}
		program, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(program, files)
		if err := errors.Join(err, program.Close()); err != nil {
			return err
		}
	}
}
