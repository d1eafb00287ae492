package mailbox

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestBox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(func(last, next int) bool { return last < 0 && next < 0 })
		ctx, cancel := context.WithCancel(context.Background())
		gate := make(chan struct{})
		var got []int
		done := make(chan error, 1)
		go func() {
			done <- b.Run(ctx, func(n int) {
				<-gate
				got = append(got, n)
			})
		}()
		b.Put(1)
		synctest.Wait() // 1 is being taken
		for _, n := range []int{2, -1, -2, -3, 3, -4, 4} {
			b.Put(n) // the taker hangs, and nobody waits for it
		}
		close(gate)
		synctest.Wait()
		if diff := cmp.Diff([]int{1, 2, -3, 3, -4, 4}, got); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}
