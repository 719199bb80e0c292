package transfer

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Audience is the audience of the tokens of pods that are being restored.
const Audience = "usher-snapshot"

// stallWithin is how long a pod may take to accept some more of a backup.
const stallWithin = time.Minute

// A Source opens the backup for a pod, or refuses it.
type Source interface {
	// Backup returns the backup to restore the pod from, and its size. It has
	// verified every byte that the reader returns, so it may answer after minutes.
	Backup(ctx context.Context, namespace, restore string, pod Caller) (io.ReadCloser, int64, error)
}

// Path returns the URL path of an EtcdRestore's backup.
func (s *Server) Path(namespace, restore string) string {
	return s.URL + "/snapshot/" + namespace + "/" + restore
}

// SendBackups makes the server send the source's backups.
func (s *Server) SendBackups(source Source) {
	s.Handle("GET /snapshot/{namespace}/{restore}", func(w http.ResponseWriter, r *http.Request) { s.send(source, w, r) })
}

func (s *Server) send(source Source, w http.ResponseWriter, r *http.Request) {
	namespace, restore := r.PathValue("namespace"), r.PathValue("restore")
	pod, err := s.Caller(r, namespace, Audience)
	if err != nil {
		s.log.Info("refused to send a backup", "namespace", namespace, "restore", restore, "reason", err.Error())
		http.Error(w, "the token does not belong to the pod being restored", http.StatusForbidden)
		return
	}
	body, size, err := source.Backup(r.Context(), namespace, restore, pod)
	if err != nil {
		s.log.Info("cannot send a backup", "namespace", namespace, "restore", restore, "pod", pod.Name, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer body.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(&steady{w, http.NewResponseController(w)}, body); err != nil {
		s.log.Info("stopped sending a backup", "namespace", namespace, "restore", restore, "pod", pod.Name, "reason", err.Error())
		panic(http.ErrAbortHandler) // so that the client does not take it for complete
	}
}

// steady writes a response, and fails if the client does not read it.
type steady struct {
	io.Writer
	connection *http.ResponseController
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (int, error) {
	if err := s.connection.SetWriteDeadline(time.Now().Add(stallWithin)); err != nil {
		return 0, err
	}
	return s.Writer.Write(p)
}
