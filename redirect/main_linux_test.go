package redirect

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Roles of the test binary when a test starts it, in a network namespace and
// with a uid of the test's choice.
const (
	part          = "REDIRECT_TEST_PART"
	partProxy     = "proxy"
	partPowerless = "powerless"
)

func TestMain(m *testing.M) {
	switch os.Getenv(part) {
	case partProxy:
		runProxy()
	case partPowerless:
		runPowerless()
	default:
		os.Exit(m.Run())
	}
}

// runPowerless drops every capability and tries what needs one.
func runPowerless() {
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		fmt.Println("capset:", err)
		return
	}
	fmt.Println(Apply(Plan(Config{InboundPort: 1})))
	_, err := Remove()
	fmt.Println(err)
}
