package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/store"
)

func TestErrorsGetTheirStatus(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int // 0: none of its own
	}{
		{&route.NameError{Name: "x"}, http.StatusNotFound},
		{store.ErrNotFound, http.StatusNotFound},
		{store.ErrConflict, http.StatusConflict},
		{deliver.Conflict("it is being typed"), http.StatusConflict},
		{errors.New("disk"), 0},
	} {
		got := 0
		var e *api.Error
		if err := actError(fmt.Errorf("outer: %w", tt.err)); errors.As(err, &e) {
			got = e.Status
		}
		if got != tt.want {
			t.Errorf("%v: status %d, want %d", tt.err, got, tt.want)
		}
	}
}
