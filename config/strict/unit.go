package strict

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest bounds times far below what overflows.
const longest = 100 * 365 * 24 * time.Hour

var durationPart = regexp.MustCompile(`^(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m|h|d)`)

var units = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// ParseDuration reads a time such as 500ms, 8s, 1h30m or 90d. A number without a unit is refused: nobody knows of what.
func ParseDuration(s string) (time.Duration, error) {
	rest, sum := s, time.Duration(0)
	for rest != "" {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%s is no time with its unit, such as 500ms, 8s, 30m, 2h or 90d", Quote(s))
		}
		number, err := strconv.ParseFloat(m[1], 64)
		if err != nil || number*float64(units[m[2]]) > float64(longest-sum) {
			return 0, fmt.Errorf("%s is too long a time", Quote(s))
		}
		sum += time.Duration(number * float64(units[m[2]]))
		rest = rest[len(m[0]):]
	}
	if s == "" {
		return 0, fmt.Errorf("the time is empty")
	}
	return sum, nil
}

// FormatDuration writes a time as ParseDuration reads it: 90d, 1h30m, 8s, 500ms.
func FormatDuration(t time.Duration) string {
	const day = 24 * time.Hour
	if t >= 2*day && t%day == 0 {
		return fmt.Sprintf("%dd", t/day)
	}
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var sizePattern = regexp.MustCompile(`(?i)^(\d{1,9}(?:\.\d{1,6})?) ?(B|KB|MB|KiB|MiB)$`)

var sizes = map[string]float64{"b": 1, "kb": 1e3, "mb": 1e6, "kib": 1 << 10, "mib": 1 << 20}

// ParseSize reads a number of bytes such as 100KB (1,000 bytes each) or 64KiB (1,024 bytes each).
func ParseSize(s string) (int, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%s is no size with its unit, such as 100KB or 64KiB", Quote(s))
	}
	number, err := strconv.ParseFloat(m[1], 64)
	bytes := number * sizes[strings.ToLower(m[2])]
	if err != nil || bytes > 1<<31-1 {
		return 0, fmt.Errorf("%s is too big a size", Quote(s))
	}
	return int(bytes), nil
}

// FormatSize writes a number of bytes as ParseSize reads it.
func FormatSize(n int) string {
	for _, u := range []struct {
		name  string
		bytes int
	}{{"MB", 1e6}, {"MiB", 1 << 20}, {"KB", 1e3}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
