#!/usr/bin/env bash
# The demo on a fresh machine with Go: makes sure of tmux, builds into a temporary folder, and runs it. See scripts/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./scripts/need-tmux.sh
command -v go >/dev/null 2>&1 || { echo "demo: go is missing; see https://go.dev/doc/install" >&2; exit 1; }

bin=$(mktemp -d)
trap 'chmod -R u+w "$bin" 2>/dev/null; rm -rf "$bin"' EXIT

# Without a home that can be written to, Go has no place for its caches.
if ! mkdir -p "$(go env GOCACHE 2>/dev/null)" 2>/dev/null || ! [ -w "$(go env GOCACHE)" ]; then
  export GOCACHE="$bin/gocache" GOMODCACHE="$bin/gomod" GOPATH="$bin/go"
fi

echo "demo: building"
go build -o "$bin/" ./cmd/madohub ./cmd/madohubctl ./scripts/scripted ./scripts/demo
"$bin/demo" --bin "$bin"
