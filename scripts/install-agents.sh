#!/usr/bin/env bash
# Installs the agents that the tests run, in exactly these versions, each into a prefix of its own:
#   scripts/install-agents.sh [DIR]      DIR: $MADOHUB_AGENTS_DIR, or .cache/agents in the tree
# What is there already stays. Nothing outside DIR is touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=${1:-${MADOHUB_AGENTS_DIR:-.cache/agents}}
versions=(2.1.332 2.1.197)

mkdir -p "$dir"
for v in "${versions[@]}"; do
  prefix="$dir/claude-$v"
  [ -x "$prefix/bin/claude" ] && continue
  command -v npm >/dev/null 2>&1 || { echo "install-agents: npm is missing; install Node.js 20 or newer" >&2; exit 1; }
  echo "install-agents: Claude Code $v into $prefix" >&2
  # npm warns that 2.1.332 wants node 22; its binary needs no node at all (seen with node 20, 2026-11-30).
  rm -rf "$prefix.part"
  npm install --global --no-fund --no-audit --loglevel error --prefix "$prefix.part" "@anthropic-ai/claude-code@$v"
  rm -rf "$prefix"
  mv "$prefix.part" "$prefix"
  got=$("$prefix/bin/claude" --version)
  case "$got" in
    "$v"*) ;;
    *) echo "install-agents: $prefix/bin/claude is $got, not $v" >&2; exit 1 ;;
  esac
done
