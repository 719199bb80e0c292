package verdict_test

import (
	"context"
	"fmt"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/verdict"
)

// A verdict says what becomes of an object, and on which facts that rests.
func ExampleJudge() {
	side, err := template.Parse("side", map[string]string{template.ConfigKey: "containers: [{name: side, image: 'example.com/side:1'}]"})
	if err != nil {
		fmt.Println(err)
		return
	}
	world := &verdict.World{
		Configuration: config.Default(), NativeSidecars: true,
		Templates: injector.NewSet(map[string]injector.Entry{"side": {Template: side}}),
	}
	for _, template := range []string{"side", "logs"} {
		v, err := verdict.Judge(context.Background(), verdict.Object{
			APIVersion: "v1", Kind: "Pod", Namespace: "team", Name: "web",
			JSON: []byte(`{"metadata":{"name":"web","annotations":{"inject.usher.dev/` + template + `":"true"}},"spec":{"containers":[{"name":"app","image":"app:1"}]}}`),
		}, nil, world.About(nil, verdict.Inject))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(template, "denied:", v.Denied, "reason:", v.Reason, "adds:", v.Injected())
		for _, need := range v.Needs {
			fmt.Println("read again before it takes effect: the templates", need.Names)
		}
	}
	// Output:
	// side denied: false reason: injected adds: [side]
	// logs denied: true reason: template-missing adds: []
	// read again before it takes effect: the templates [logs]
}
