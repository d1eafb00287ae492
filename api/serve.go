package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // http.Server takes no other, and this one is silent
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second // for requests that are being answered when the daemon stops
	maxHeader     = 64 << 10
)

// Serve answers requests on a listener of Listen until ctx ends. Then waiting requests are ended, those that are being
// answered get a moment, and everything is closed.
func Serve(ctx context.Context, ln net.Listener, h *Handler) error {
	g, gctx := errgroup.WithContext(ctx)
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return gctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if conn, ok := c.(*peerConn); ok {
				conn.identify = h.control.Identify
				return context.WithValue(ctx, callerKey{}, conn)
			}
			return ctx
		},
		// What net/http would print is what clients did wrong, and their trouble alone.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	g.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the control socket: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(gctx), stopTimeout)
		defer cancel()
		if err := server.Shutdown(stop); err != nil {
			return server.Close() // someone did not let go in time
		}
		return nil
	})
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
