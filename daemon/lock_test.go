package daemon

import (
	"os"
	"testing"
)

func TestOwner(t *testing.T) {
	self := owner(os.Getpid())
	if ownerPID(self) != os.Getpid() || !ownerAlive(self) {
		t.Errorf("%q is not this process, or not alive", self)
	}
	for _, other := range []string{"", "x", "0.1", self + "1", "4194305.1", "4194305."} { // no pid is as high
		if ownerAlive(other) {
			t.Errorf("%q is taken for a daemon that lives", other)
		}
	}
}
