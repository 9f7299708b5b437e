#!/usr/bin/env bash
# Takes the pictures of the guide from a real chat in tmux, as it comes: `docs/pictures/make.sh target/release/inglenook`.
# Needs tmux, and python3 with `rich` (from PyPI).
set -euo pipefail

program=$(realpath "$1") here=$(realpath "$(dirname "$0")") home=$(mktemp -d)
screen() { tmux -L "pictures-$$" "$@"; }
trap 'screen kill-server 2>/dev/null || true; rm -rf "$home"' EXIT

# What is typed, and Enter; then until nothing has changed for two seconds.
say() { screen send-keys -l "$1"; sleep 0.3; screen send-keys Enter; settle; }
press() { screen send-keys "$@"; settle; }
settle() {
    local before='' now
    while sleep 2; now=$(screen capture-pane -p); [ "$now" != "$before" ]; do before=$now; done
}
take() {
    screen capture-pane -e -p | python3 -c '
import re, sys
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

console = Console(record=True, width=100, file=open("/dev/null", "w"), force_terminal=True, color_system="truecolor")
console.print(Text.from_ansi(sys.stdin.read().rstrip("\n")), no_wrap=True)
svg = console.export_svg(title="inglenook", theme=MONOKAI, unique_id=sys.argv[1])
# Whoever looks at it fetches no font.
svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.S).replace("Fira Code", "monospace")
sys.stdout.write("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")
' "$1" > "$here/$1.svg"
}

screen new-session -d -x 100 -y 28 "env INGLENOOK_HOME=$home COLORTERM=truecolor TERM=xterm-256color '$program'"
sleep 3
settle; take welcome
say 'Hi, I am Ana. I moved to Lund last week to work as a nurse.'
say 'My sister Clara visits on Friday. She is a vegetarian, and plays the cello.'
say 'Our dog Bruno is afraid of thunder.'
say 'When does Clara visit, and what can I cook?'
say 'What does my sister play?'
take answer
say /why; take why
press Escape; say /memory; sleep 20; press Right; press Down; take memory
press Escape; say /theme; take theme
