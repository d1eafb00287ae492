#!/usr/bin/env bash
# Runs the tests with real agents: installs them if they are missing, then scripts/realagents. Arguments go to go test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export MADOHUB_AGENTS_DIR=${MADOHUB_AGENTS_DIR:-$PWD/.cache/agents}
./scripts/install-agents.sh "$MADOHUB_AGENTS_DIR"
timeout=15m
if [ "${MADOHUB_MATRIX:-}" = 1 ]; then timeout=120m; fi
exec go test -tags agents -count=1 -v -timeout "$timeout" -parallel "${MADOHUB_PARALLEL:-3}" "$@" ./scripts/realagents
