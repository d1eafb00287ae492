package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The secrets below are made up; they are put together from parts so that no scanner takes this file for a leak.
var (
	body16 = strings.Repeat("aB3d", 4)
	body40 = strings.Repeat("aB3dE", 8)
)

func TestMask(t *testing.T) {
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow" + body40 + "\nab+/c=\n-----END RSA " + "PRIVATE KEY-----"
	for _, c := range []struct{ name, in, want string }{
		{"openai", "key sk-" + body40 + " end", "key sk-[masked] end"},
		{"openai project", "sk-proj-" + body40, "sk-proj-[masked]"},
		{"anthropic", "sk-ant-api03-" + body40 + "-x_", "sk-ant-api03-[masked]"},
		{"github classic", "ghp_" + body40, "ghp_[masked]"},
		{"github oauth", "(gho_" + body40 + ")", "(gho_[masked])"},
		{"github fine", "github_pat_" + body40 + "_" + body16, "github_pat_[masked]"},
		{"aws", "id=AKIA" + strings.Repeat("A", 16), "id=AKIA[masked]"},
		{"slack", "xoxb-123456789012-" + body16, "xoxb-[masked]"},
		{"google", "AIza" + body40, "AIza[masked]"},
		{"jwt", "t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0x.c2lnbmF0dXJl u", "t eyJ[masked] u"},
		{"pem", "a\n" + pem + "\nb", "a\n-----BEGIN RSA " + "PRIVATE KEY-----[masked]-----END RSA " + "PRIVATE KEY-----\nb"},
		{"pem without end", pem[:40], "-----BEGIN RSA " + "PRIVATE KEY-----[masked]"},
		{"bearer header", "Authorization: Bearer abc", "Authorization: Bearer [masked]"},
		{"basic header in curl", `-H "authorization: Basic dXNlcg=="`, `-H "authorization: Basic [masked]"`},
		{"bare token header", "Authorization: abcdef", "Authorization: [masked]"},
		{"bearer alone", "Bearer " + body16, "Bearer [masked]"},
		{"password", "password=hunter2 next", "password=[masked] next"},
		{"password json", `{"password": "a b c", "x": 1}`, `{"password": [masked], "x": 1}`},
		{"password in url query", "?user=a&password=hunter2&x=1", "?user=a&password=[masked]&x=1"},
		{"env", "export MY_API_KEY='zzz1'", "export MY_API_KEY=[masked]"},
		{"yaml", "client_secret: hunter22", "client_secret: [masked]"},
		{"url", "postgres://me:hunter2@db/x", "postgres://me:[masked]@db/x"},
		{"plain words", "the bearer of this password is a token of trust; sk-learn, ghp_, task-force-alpha-bravo-one", "the bearer of this password is a token of trust; sk-learn, ghp_, task-force-alpha-bravo-one"},
		{"code", "password = getPassword()", "password = [masked]()"},
		{"git hash", "commit 0123456789abcdef0123456789abcdef01234567", "commit 0123456789abcdef0123456789abcdef01234567"},
		{"url without password", "https://example.com:8080/a@b", "https://example.com:8080/a@b"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Mask(c.in); got != c.want {
				t.Errorf("Mask(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestShownMasksEveryTextAndLeavesTheRecordAlone(t *testing.T) {
	key := "sk-" + body40
	rec := Record{ID: "r_1", SourceText: key, Text: key, Detail: key, Evidence: key, Steps: []Step{{Name: "held", Note: key}}}
	want := Record{
		ID: "r_1", SourceText: "sk-[masked]", Text: "sk-[masked]", Detail: "sk-[masked]", Evidence: "sk-[masked]",
		Steps: []Step{{Name: "held", Note: "sk-[masked]"}},
	}
	if diff := cmp.Diff(rec.Shown(), want); diff != "" {
		t.Errorf("Shown (-got +want):\n%s", diff)
	}
	if rec.Text != key || rec.Steps[0].Note != key {
		t.Error("Shown changed the record itself")
	}
}

func FuzzMask(f *testing.F) {
	for _, s := range []string{"", "password=", "sk-" + body40, "-----BEGIN PRIVATE KEY-----\nx", "a://b:c@d", "Bearer \xff\xfe", "eyJ.eyJ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Mask(s)
		if twice := Mask(once); twice != once {
			t.Errorf("masking twice is not masking once: %q, %q, %q", s, once, twice)
		}
		if secret := "sk-" + body40; strings.Contains(Mask(s+" "+secret+" "+s), secret) {
			t.Errorf("a key between %q was not masked", s)
		}
	})
}
