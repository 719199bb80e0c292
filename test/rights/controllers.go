package rights

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// AfterTests compares the rights of controllers in deploy/usher.yaml with what
// their ServiceAccount did during all tests of a package, and returns the exit
// status: that of the tests, unless they succeeded and the rights differ. Rights
// in unseen need not be used. After a selection of tests it compares nothing.
func (l Log) AfterTests(status int, user string, unseen []string, controllers ...string) int {
	if run := flag.Lookup("test.run"); status != 0 || run != nil && run.Value.String() != "" {
		return status
	}
	if err := l.compare(user, unseen, controllers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (l Log) compare(user string, unseen, controllers []string) error {
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "..", "deploy", "usher.yaml"))
	if err != nil {
		return err
	}
	const common = "usher-controller"
	all, err := Roles(string(text), func(name string) bool { return name == common })
	if err != nil {
		return err
	}
	// What all controllers share is compared in deploy.
	unseen = append(slices.Clone(unseen), slices.Sorted(maps.Keys(In(all)))...)
	own, err := Roles(string(text), func(name string) bool {
		return slices.ContainsFunc(controllers, func(controller string) bool { return name == common+"-"+controller })
	})
	if err != nil {
		return err
	}
	done, err := l.Of(user)
	if err != nil {
		return err
	}
	var problems []error
	for _, problem := range Compare(done, In(append(all, own...)), unseen, nil) {
		problems = append(problems, errors.New(problem))
	}
	return errors.Join(problems...)
}
