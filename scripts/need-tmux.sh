#!/usr/bin/env bash
# Makes sure that tmux is there: installs it where that needs no question, else says exactly what to do.
set -euo pipefail

command -v tmux >/dev/null 2>&1 && exit 0

say() { printf 'need-tmux: %s\n' "$*" >&2; }

root=(env)
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then root=(sudo -n); else root=(false); fi
fi

try() { # try NAME COMMAND…: runs it quietly, shows its output only if it went wrong
  local out
  say "tmux is missing; installing it with $1"
  shift
  if out=$("$@" 2>&1) && command -v tmux >/dev/null 2>&1; then exit 0; fi
  printf '%s\n' "$out" | tail -n 15 >&2
}

if [ "${root[0]}" != false ]; then
  if command -v apt-get >/dev/null 2>&1; then
    try apt-get "${root[@]}" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -q && apt-get install -y -q --no-install-recommends tmux'
  elif command -v apk >/dev/null 2>&1; then
    try apk "${root[@]}" apk add --no-cache tmux
  elif command -v dnf >/dev/null 2>&1; then
    try dnf "${root[@]}" dnf install -y tmux
  elif command -v pacman >/dev/null 2>&1; then
    try pacman "${root[@]}" pacman -S --noconfirm tmux
  fi
fi
if command -v brew >/dev/null 2>&1; then
  try brew brew install tmux
fi

say "MadoHub needs tmux 3.2 or newer. Install it and run this again:"
say "  Debian, Ubuntu:  sudo apt-get install tmux"
say "  Fedora:          sudo dnf install tmux"
say "  Arch:            sudo pacman -S tmux"
say "  Alpine:          sudo apk add tmux"
say "  macOS:           brew install tmux"
exit 1
