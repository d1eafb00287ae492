package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readResponse reads one answer; its body stands in the header "body".
func readResponse(t testing.TB, conn net.Conn) *http.Response {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Header.Set("body", strings.TrimSpace(string(b)))
	return res
}

func TestRequestsThatAreRefused(t *testing.T) {
	f := newFake()
	path := serve(t, f)
	post := func(target, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body)
	}
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"garbage":             {"\x00\x01\x02garbage\r\n\r\n", 400},
		"binary":              {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"origin":              {"GET /v1/status HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\n\r\n", 403},
		"referer":             {"GET /v1/status HTTP/1.1\r\nHost: x\r\nReferer: http://evil/\r\n\r\n", 403},
		"wrong method":        {"DELETE /v1/status HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		"get of post":         {"GET /v1/send HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		"no route":            {"GET /v2/status HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		"no JSON":             {post("/v1/send", "to=a"), 400},
		"unknown field":       {post("/v1/send", `{"to":"a","from":"b"}`), 400},
		"two objects":         {post("/v1/send", `{"to":"a"}{"to":"b"}`), 400},
		"wrong type":          {post("/v1/send", `{"to":["a"]}`), 400},
		"array":               {post("/v1/send", `[]`), 400},
		"cut off":             {post("/v1/send", `{"to":"a"`), 400},
		"empty":               {post("/v1/send", ""), 400},
		"deep":                {post("/v1/send", strings.Repeat("[", 20000)), 400},
		"control in a name":   {"GET /v1/records/a%0ab HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"bad UTF-8 in a name": {"GET /v1/records/%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"long name":           {"GET /v1/records/" + strings.Repeat("x", 300) + " HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"huge header":         {"GET /v1/status HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 431},
		"huge by its length":  {"POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{\"to\":\"", 0},
		"too many names":      {post("/v1/pause", `{"names":["a"`+strings.Repeat(`,"a"`, 1000)+`]}`), 400},
		"names and all":       {post("/v1/pause", `{"names":["a"],"all":true}`), 400},
		"bad last event":      {"GET /v1/log/follow HTTP/1.1\r\nHost: x\r\nLast-Event-ID: x\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, path)
			_, _ = io.WriteString(conn, tc.request) // the server may close before it has taken all
			if tc.status == 0 {
				return
			}
			res := readResponse(t, conn)
			if res.StatusCode != tc.status {
				t.Errorf("status %d, want %d: %s", res.StatusCode, tc.status, res.Header.Get("body"))
			}
			if tc.status >= 403 && tc.status != 431 {
				var e Error
				if err := json.Unmarshal([]byte(res.Header.Get("body")), &e); err != nil || e.Message == "" {
					t.Errorf("answer %q is no error in JSON", res.Header.Get("body"))
				}
			}
		})
	}
	if f.asked != nil {
		t.Errorf("the daemon was asked %v", f.asked)
	}
}

func TestHugeBodyIsRefused(t *testing.T) {
	f := newFake()
	conn := dial(t, serve(t, f))
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		fmt.Fprintf(conn, "POST /v1/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		piece := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
		fmt.Fprintf(conn, "6\r\n{\"to\":\r\n1\r\n\"\r\n")
		for {
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
		}
	}()
	res := readResponse(t, conn)
	_ = conn.Close()
	<-wrote
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want %d", res.StatusCode, http.StatusRequestEntityTooLarge)
	}
	if f.asked != nil {
		t.Errorf("the daemon was asked %v", f.asked)
	}
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	f := newFake()
	conn := dial(t, serve(t, f, func(h *Handler) { h.bodyTimeout = 50 * time.Millisecond }))
	fmt.Fprintf(conn, "POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"to\":")
	if res := readResponse(t, conn); res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d, want %d: %s", res.StatusCode, http.StatusRequestTimeout, res.Header.Get("body"))
	}
}

func TestAnswerMayTakeLongerThanABody(t *testing.T) {
	f := newFake()
	c := NewClient(serve(t, f, func(h *Handler) { h.bodyTimeout = 20 * time.Millisecond }))
	release := time.AfterFunc(200*time.Millisecond, func() { close(f.final) })
	defer release.Stop()
	if _, err := c.Wait(context.Background(), "r_1"); err != nil {
		t.Error(err)
	}
}

func TestManyClientsThatSayNothingHoldNobodyUp(t *testing.T) {
	path := serve(t, newFake())
	for range 200 {
		conn := dial(t, path)
		_, _ = io.WriteString(conn, "GET /v1/sta")
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := NewClient(path).Status(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSlowIdentificationHoldsNobodyElseUp(t *testing.T) {
	f := newFake()
	release := make(chan struct{})
	first := make(chan struct{}, 1)
	first <- struct{}{}
	identified := make(chan struct{})
	f.who = func(int) Caller {
		select {
		case <-first:
			close(identified)
			<-release
		default:
		}
		return Caller{}
	}
	path := serve(t, f)
	slow := make(chan error, 1)
	go func() { _, err := NewClient(path).Status(context.Background()); slow <- err }()
	await(t, "identification of the first client", identified)
	if _, err := NewClient(path).Status(context.Background()); err != nil {
		t.Error(err)
	}
	close(release)
	if err := await(t, "answer", slow); err != nil {
		t.Error(err)
	}
}

func TestListenRefusesPlacesThatAreNotSafe(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(dir string) string
		want    string
	}{
		"long path":       {func(dir string) string { return filepath.Join(dir, strings.Repeat("x", 120)) }, "choose a shorter one"},
		"writable folder": {func(dir string) string { must(t, os.Chmod(dir, 0o777)); return dir + "/s" }, "may be written by others"},
		"link to a folder": {func(dir string) string {
			must(t, os.Mkdir(dir+"/d", 0o700))
			must(t, os.Symlink(dir+"/d", dir+"/l"))
			return dir + "/l/s"
		}, "symbolic link"},
		"a file":          {func(dir string) string { must(t, os.WriteFile(dir+"/s", []byte("x"), 0o600)); return dir + "/s" }, "not a socket"},
		"a link":          {func(dir string) string { must(t, os.Symlink("/nowhere", dir+"/s")); return dir + "/s" }, "not a socket"},
		"a folder's name": {func(dir string) string { must(t, os.WriteFile(dir+"/d", nil, 0o600)); return dir + "/d/s" }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.prepare(socketDir(t))
			ln, err := Listen(path)
			if err == nil {
				_ = ln.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Listen: %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("another's folder", func(t *testing.T) {
		dir, owner := "/etc", "uid 0" // only root can give a folder away; for others root's will do
		if os.Geteuid() == 0 {
			dir, owner = socketDir(t), "uid 65534"
			must(t, os.Chown(dir, 65534, 65534))
		}
		if _, err := Listen(dir + "/s"); err == nil || !strings.Contains(err.Error(), owner) {
			t.Errorf("Listen: %v", err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestListenMakesItsFolderAndReplacesOnlyADeadSocket(t *testing.T) {
	path := filepath.Join(socketDir(t), "a", "s")
	first, err := Listen(path)
	must(t, err)
	for p, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
		if info, err := os.Lstat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %04o (%v)", p, info.Mode(), want, err)
		}
	}
	if ln, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another daemon answers") {
		t.Errorf("second Listen: %v, %v", ln, err)
	}
	first.(*listener).SetUnlinkOnClose(false) // as after kill -9
	must(t, first.Close())
	second, err := Listen(path)
	must(t, err)
	must(t, second.Close())
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestAnotherUserIsRefused opens the socket to everybody, so that only the check of the peer's user is left.
func TestAnotherUserIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		// Nobody else can become another user, and no fake peer would be asked by the kernel. CI runs as root: there it is an error.
		if os.Getenv("CI") != "" {
			t.Fatal("CI must run this as root on Linux")
		}
		t.Skip("needs root on Linux to become another user")
	}
	f := newFake()
	path := serve(t, f)
	exe, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	copied := filepath.Join(filepath.Dir(path), "peer") // the test program itself may stand where nobody can't read
	must(t, os.WriteFile(copied, exe, 0o755))
	run := func() string {
		cmd := exec.Command(copied)
		cmd.Env = []string{peerEnv + "=" + path, "HOME=/nonexistent", "TMPDIR=/tmp"}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	must(t, os.Chmod(filepath.Dir(path), 0o755))
	if out := run(); !strings.Contains(out, "peer got: dial unix") || !strings.Contains(out, "permission denied") {
		t.Errorf("with mode 0600 nobody got in: %s", out)
	}
	must(t, os.Chmod(path, 0o666))
	if out := run(); !strings.Contains(out, "403 Forbidden") || !strings.Contains(out, "this daemon belongs to another user") {
		t.Errorf("with mode 0666 nobody got: %s", out)
	}
	if f.asked != nil {
		t.Errorf("the daemon was asked %v", f.asked)
	}
	if _, err := NewClient(path).Status(context.Background()); err != nil {
		t.Errorf("our own user after that: %v", err)
	}
}

// peerEnv makes the test program a client of the socket that it names: TestAnotherUserIsRefused runs it as another user.
const peerEnv = "MADOHUB_TEST_PEER"

func visit(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Printf("peer got: %v\n", err)
		return
	}
	_, _ = io.WriteString(conn, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
	b, _ := io.ReadAll(conn)
	fmt.Printf("peer got: %s\n", b)
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{"to":"a","text":"b"}`, `{`, `[]`, "", "null", `{"to":"a"}x`, `{"names":["a"],"all":false}`, `{"how":"drop"}`} {
		f.Add("POST", "/v1/send", s)
	}
	f.Add("GET", "/v1/log?n=1&since=1h", "")
	f.Add("GET", "/v1/records/%00", "")
	f.Add("POST", "/v1/rearm", `{"all":true}`)
	control := newFake()
	close(control.final)
	h := NewHandler(control, NewMetrics())
	f.Fuzz(func(t *testing.T, method, target, body string) {
		req, err := http.NewRequest(method, "http://x/", strings.NewReader(body))
		if err != nil {
			return
		}
		if req.URL, err = req.URL.Parse(target); err != nil || strings.HasPrefix(req.URL.Path, "/v1/log/follow") {
			return
		}
		w := &recorder{header: http.Header{}}
		h.ServeHTTP(w, req)
		if w.status < 200 || w.status > 599 {
			t.Errorf("status %d", w.status)
		}
		if w.status >= 500 {
			t.Errorf("%s %s %q: status %d: %s", method, target, body, w.status, w.body)
		}
		if w.status == http.StatusOK && strings.HasPrefix(req.URL.Path, "/v1/") && !json.Valid([]byte(w.body)) {
			t.Errorf("answer %q is no JSON", w.body)
		}
	})
}

type recorder struct {
	header http.Header
	status int
	body   string
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(s int)   { r.status = s }
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body += string(b)
	return len(b), nil
}
