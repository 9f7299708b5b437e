"""From a key to the screen: letters typed one by one into a chat in a pseudo-terminal, first idle, then while a reply is generated.

    python tests/bench/keystrokes.py target/release/inglenook MODEL.gguf $(mktemp -d)

A letter counts as shown once its bytes come back; each is one that no reply holds.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


# None of them is in a reply in English.
LETTERS = "αβγδεζηθικλμνξοπρστυφχψωабвгдежзклмнпрстуфхцчшщэюя"
PROMPT = "Write a Rust program with a struct, an impl and tests for a bank account, and explain every line of it in detail."


def chat(binary, model, home):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(binary, [binary, "-m", model], dict(os.environ, INGLENOOK_HOME=home, TERM="xterm-256color"))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 35, 120, 0, 0))
    return pid, terminal


def read(terminal, seconds, until=None):
    """What comes within so many seconds; ends as soon as `until` has come."""
    came, end = b"", time.monotonic() + seconds
    while select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
        came += os.read(terminal, 1 << 16)
        if until is not None and until in came:
            break
    return came


def measure(terminal, name, n, gap):
    times, n_missed = [], 0
    for k in range(n):
        letter = LETTERS[k % len(LETTERS)].encode()
        begun = time.monotonic()
        os.write(terminal, letter)
        if letter in read(terminal, 2, letter):
            times.append(1000 * (time.monotonic() - begun))
        else:
            n_missed += 1
        read(terminal, gap)
    times.sort()
    p50, p99 = (times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.99))
    print(f"{name}: {len(times)} keys, {n_missed} not seen; p50 {p50:.1f}, p99 {p99:.1f}, most {times[-1]:.1f} ms", flush=True)


pid, terminal = chat(*sys.argv[1:4])
read(terminal, 15)
os.write(terminal, b"hi\r")
read(terminal, 15)
measure(terminal, "idle", 48, 0.1)
os.write(terminal, b"\x15")
read(terminal, 1)
os.write(terminal, PROMPT.encode() + b"\r")
read(terminal, 6)
measure(terminal, "while a reply is generated", 96, 0.07)
print("the reply was still being generated:", len(read(terminal, 0.5)) > 20)
os.kill(pid, signal.SIGTERM)
