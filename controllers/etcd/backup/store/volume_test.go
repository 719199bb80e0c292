package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// endless is content without an end; at is called after that many bytes.
type endless struct {
	left int
	at   func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left -= len(p); e.left < 0 && e.at != nil {
		e.at()
		e.at = nil
	}
	return len(p), nil
}

func TestAVolumeWhoseConnectionIsCutKeepsNothing(t *testing.T) {
	root := t.TempDir()
	v, cut := onVolume(t, root)
	err := v.Put(t.Context(), "cut/key", store.About{}, &endless{left: 8 << 20, at: cut})
	if store.ReasonOf(err) != store.Unavailable {
		t.Errorf("reason is %q: %v", store.ReasonOf(err), err)
	}
	var left []string
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		left, err = filepath.Glob(filepath.Join(root, "cut", "*"))
		return len(left) == 0, err
	})
	if err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	<-v.Gone()
	if err := v.Put(t.Context(), "key", store.About{}, bytes.NewReader(nil)); store.ReasonOf(err) != store.Unavailable {
		t.Errorf("after it was cut: %v", err)
	}
}

func TestAVolumeThatIsCutIsNotReadForWhole(t *testing.T) {
	v, cut := onVolume(t, t.TempDir())
	if err := v.Put(t.Context(), "key", store.About{}, bytes.NewReader(content(32<<20))); err != nil {
		t.Fatal(err)
	}
	r, _, err := v.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	cut()
	if n, err := io.Copy(io.Discard, r); store.ReasonOf(err) != store.Unavailable {
		t.Errorf("after %d bytes more: %v", n, err)
	}
}

func TestManyBackupsGoOverOneConnection(t *testing.T) {
	v, _ := onVolume(t, t.TempDir())
	done := make(chan error)
	for i := range 8 {
		go func() {
			key, want := fmt.Sprintf("many/%d", i), content(3<<20)
			if err := v.Put(t.Context(), key, store.About{Revision: int64(i)}, bytes.NewReader(want)); err != nil {
				done <- err
				return
			}
			r, o, err := v.Get(t.Context(), key)
			if err != nil {
				done <- err
				return
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if err == nil && (!bytes.Equal(got, want) || o.About.Revision != int64(i)) {
				err = fmt.Errorf("%s is %d bytes of revision %d", key, len(got), o.About.Revision)
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestAVolumeIsLeftWithItsContext(t *testing.T) {
	root := t.TempDir()
	v, _ := onVolume(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	if err := v.Put(ctx, "left/key", store.About{}, &endless{left: 1 << 20, at: cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if err := v.Put(t.Context(), "next", store.About{}, bytes.NewReader(content(10))); err != nil {
		t.Errorf("the next is not saved: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "left", "key")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}
