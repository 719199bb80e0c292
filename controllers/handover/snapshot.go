package handover

import (
	"context"
	"io"
	"net/http"
	"strconv"
)

// Audience is what the tokens of pods that are restored are for.
const Audience = "usher-snapshot"

// A Source opens the backup for a pod, or refuses it.
type Source interface {
	// Backup returns the backup that the pod is to be restored from, and its
	// size.
	Backup(ctx context.Context, namespace, restore string, pod Caller) (io.ReadCloser, int64, error)
}

// Path is the URL of an EtcdRestore's backup.
func (s *Server) Path(namespace, restore string) string {
	return s.URL + "/snapshot/" + namespace + "/" + restore
}

// HandOver has the server hand the source's backups over.
func (s *Server) HandOver(source Source) {
	s.Handle("GET /snapshot/{namespace}/{restore}", func(w http.ResponseWriter, r *http.Request) { s.handOver(source, w, r) })
}

func (s *Server) handOver(source Source, w http.ResponseWriter, r *http.Request) {
	namespace, restore := r.PathValue("namespace"), r.PathValue("restore")
	pod, err := s.Caller(r, namespace, Audience)
	if err != nil {
		s.log.Info("refused to hand a backup over", "namespace", namespace, "restore", restore, "reason", err.Error())
		http.Error(w, "the token is not that of the pod that is restored", http.StatusForbidden)
		return
	}
	body, size, err := source.Backup(r.Context(), namespace, restore, pod)
	if err != nil {
		s.log.Info("cannot hand a backup over", "namespace", namespace, "restore", restore, "pod", pod.Name, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer body.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(w, body); err != nil {
		s.log.Info("broke off handing a backup over", "namespace", namespace, "restore", restore, "pod", pod.Name, "reason", err.Error())
		panic(http.ErrAbortHandler) // so that it cannot be taken for whole
	}
}
