// Serve runs the fake model server on loopback until it is interrupted.
//
//	serve [--addr 127.0.0.1:0] [--log FILE] [--rules FILE]
//
// It prints its base URL, for ANTHROPIC_BASE_URL. GET /_release?name=NAME lets answers of @@hold:NAME@@ go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/scripts/fakemodel"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen; only loopback makes sense")
	log := flag.String("log", "", "file for one JSON object a request")
	rules := flag.String("rules", "", "file with rules for prompts without a marker")
	flag.Parse()
	if err := serve(*addr, *log, *rules); err != nil {
		fmt.Fprintf(os.Stderr, "serve: %v\n", err)
		os.Exit(1)
	}
}

func serve(addr, log, rules string) error {
	var opt fakemodel.Options
	if rules != "" {
		loaded, err := fakemodel.LoadRules(rules)
		if err != nil {
			return err
		}
		opt.Answer = loaded.Answer
	}
	if log != "" {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		defer f.Close()
		opt.Log = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	srv := &http.Server{Handler: fakemodel.New(opt), ReadHeaderTimeout: 10 * time.Second}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return srv.Serve(l) })
	g.Go(func() error { <-ctx.Done(); return srv.Close() })
	if err := g.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
