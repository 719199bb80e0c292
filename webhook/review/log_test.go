package review

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding/reason"
)

func TestEachDecisionIsLogged(t *testing.T) {
	req := &Request{UID: "u-1", Name: "web", Namespace: "shop", Operation: "CREATE", DryRun: true}
	req.Kind.Kind, req.UserInfo.Username = "Pod", "me"
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	for name, tc := range map[string]struct {
		res   Response
		level slog.Level
		want  string
	}{
		"an injection": {
			Response{Allowed: true, Reason: "injected", Audit: map[string]string{"templates": "envoy=injected"}, Withheld: []string{"a"}}, slog.LevelInfo,
			`{"level":"INFO","msg":"decided","reason":"injected","allowed":true,"kind":"Pod","namespace":"shop","name":"web","operation":"CREATE","dryRun":true,` +
				`"claimedUser":"me","templates":"envoy=injected","message":"","withheld":["a"],"uid":"u-1"}` + "\n",
		},
		"nothing to do": {Response{Allowed: true, Reason: string(reason.NotAsked)}, slog.LevelInfo, ""},
		"nothing to do, of interest to some": {
			Response{Allowed: true, Reason: string(reason.NotAsked)}, slog.LevelDebug,
			`{"level":"DEBUG+3","msg":"decided","reason":"` + string(reason.NotAsked) + `","allowed":true,"kind":"Pod","namespace":"shop","name":"web","operation":"CREATE","dryRun":true,` +
				`"claimedUser":"me","templates":"","message":"","withheld":null,"uid":"u-1"}` + "\n",
		},
	} {
		var log bytes.Buffer
		e := endpoint{decisions: logr.ToSlogHandler(logr.FromSlogHandler(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: tc.level, ReplaceAttr: withoutTime})))}
		e.record(t.Context(), req, &tc.res)
		if diff := cmp.Diff(tc.want, log.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
