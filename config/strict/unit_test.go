package strict

import (
	"testing"
	"time"
)

func TestDurationsAreReadWithTheirUnitsOnly(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want time.Duration
		out  string // "" if it is written as it was read
	}{
		{"8s", 8 * time.Second, ""},
		{"500ms", 500 * time.Millisecond, ""},
		{"90d", 90 * 24 * time.Hour, ""},
		{"1h30m", 90 * time.Minute, ""},
		{"1.5s", 1500 * time.Millisecond, ""},
		{"24h", 24 * time.Hour, ""},
		{"0s", 0, ""},
		{"90m", 90 * time.Minute, "1h30m"},
		{"0.5d", 12 * time.Hour, "12h"},
		{"1h0m1s", time.Hour + time.Second, ""},
	} {
		got, err := ParseDuration(tc.in)
		if err != nil || got != tc.want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", tc.in, got, err, tc.want)
		}
		if tc.out == "" {
			tc.out = tc.in
		}
		if out := FormatDuration(got); out != tc.out {
			t.Errorf("FormatDuration(%v) = %q, want %q", got, out, tc.out)
		}
	}
	for _, bad := range []string{"", "8", "8 s", "-1s", "+1s", "1s2", "s", "1e9s", "999999999d", "99999999999h", "NaN", "1w", "٣s"} {
		if got, err := ParseDuration(bad); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", bad, got)
		}
	}
}

func TestSizesAreReadWithTheirUnitsOnly(t *testing.T) {
	for in, want := range map[string]int{"100KB": 100_000, "64KiB": 65_536, "1MB": 1_000_000, "1.5 kb": 1500, "7B": 7, "2MiB": 2 << 20} {
		got, err := ParseSize(in)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
		if again, err := ParseSize(FormatSize(got)); err != nil || again != got {
			t.Errorf("%q is written %q, which is read %d, %v", in, FormatSize(got), again, err)
		}
	}
	for _, bad := range []string{"", "100", "KB", "-1B", "1TB", "999999999MB", "0x10B"} {
		if got, err := ParseSize(bad); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", bad, got)
		}
	}
}

func TestNearestFindsWhatWasMeant(t *testing.T) {
	words := []string{"max_rounds", "cooldown", "stop_keyword", "rearm", "to", "from"}
	for given, want := range map[string]string{
		"maxRounds": "max_rounds", "max-round": "max_rounds", "Cooldwon": "cooldown", "rearms": "rearm", "form": "from",
		"xyz": "", "keyword": "", "": "",
	} {
		if got := Nearest(given, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", given, got, want)
		}
	}
}
