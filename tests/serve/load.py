"""`inglenook serve` under load: `load.py PROGRAM [SECONDS]`, with python's own library alone. Ten minutes unless said otherwise.

Good clients ask with and without memory, streamed or not, and note things as agents; bad ones send half a request, read a byte a
second, vanish in the middle of a reply, or send garbage. Exit code 1 if a good client was refused for anything but a full queue, if
something acknowledged was lost, or if the server grew by more than a quarter in the second half.
"""

import collections
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, SECONDS = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 600
counts, wrong, told = collections.Counter(), [], []


class Server:
    def __init__(self, home):
        self.home = {"INGLENOOK_HOME": home, "HOME": home}
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], env=self.home, stdout=subprocess.PIPE, text=True)
        self.host = self.process.stdout.readline().strip().removeprefix("http://").removesuffix("/v1")
        with open(f"{home}/serve-token") as file:
            self.token = file.read().strip()

    def post(self, path, body):
        connection = http.client.HTTPConnection(self.host, timeout=300)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self.token}"})
        return connection.getresponse()

    def kilobytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def opened(self):
        """A connection on which half a request was sent, and one with a whole one."""
        body = json.dumps(asked("Tell me a long story.", stream=True, max_tokens=400))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        address, port = self.host.split(":")
        connection = socket.create_connection((address, int(port)))
        connection.settimeout(30)
        return connection, (head + body).encode()


def asked(text, **fields):
    return {"model": "inglenook", "messages": [{"role": "user", "content": text}], **fields}


def good(server, n, random):
    path, body, fact = "/v1/chat/completions", asked(f"Tell me about the number {n}.", max_tokens=random.choice([5, 40])), None
    body["stream"] = random.random() < 0.5
    kind = n % 5
    if kind == 1:
        fact = f"My friend Robin{n} keeps {n} bees."
        body = asked(fact, memory=True, max_tokens=20)
    elif kind == 2:
        body = asked("Who keeps bees?", memory=True, max_tokens=20, stream=True)
    elif kind == 3:
        fact, path = f"Robin{n} was seen in Lund.", "/mcp"
        call = {"name": "remember", "arguments": {"text": fact}}
        body = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call}
    elif kind == 4:
        path, body = "/v1/embeddings", {"model": "inglenook", "input": [f"text {i} of {n}" for i in range(20)]}
    response = server.post(path, body)
    text = response.read().decode()
    counts[response.status] += 1
    if response.status not in (200, 429) or '"error"' in text and response.status == 200:
        wrong.append((path, response.status, text[:300]))
    if fact and response.status == 200:
        told.append(fact)


def bad(server, n, random):
    connection, request = server.opened()
    with connection:
        kind = n % 4
        if kind == 0:
            connection.sendall(request[: random.randrange(len(request))])
            time.sleep(random.random() * 5)
        elif kind == 1:
            connection.sendall(request)
            for _ in range(8):
                connection.recv(1)
                time.sleep(1)
        elif kind == 2:
            connection.sendall(request)
            connection.recv(random.randrange(1, 2_000))
        else:
            connection.sendall(random.randbytes(random.randrange(1, 5_000)))
    counts["bad"] += 1


def run(client, server, number, until):
    own, n = random.Random(number), number
    while time.monotonic() < until:
        try:
            client(server, n, own)
        except (OSError, http.client.HTTPException) as error:
            if client is good:
                wrong.append((n, repr(error)))
        n += 100


def main():
    with tempfile.TemporaryDirectory() as home:
        server = Server(home)
        begun = time.monotonic()
        threads = [threading.Thread(target=run, args=(good, server, n, begun + SECONDS)) for n in range(10)]
        threads += [threading.Thread(target=run, args=(bad, server, n, begun + SECONDS)) for n in range(4)]
        for thread in threads:
            thread.start()
        sizes = []
        while time.monotonic() < begun + SECONDS:
            time.sleep(SECONDS / 20)
            sizes.append(server.kilobytes())
            print(f"{time.monotonic() - begun:5.0f} s  {sizes[-1] >> 10} MB  {dict(counts)}", flush=True)
        for thread in threads:
            thread.join()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(30)
        kept = subprocess.run([PROGRAM, "export"], env=server.home, capture_output=True, text=True, check=True).stdout
        verified = subprocess.run([PROGRAM, "memory", "verify"], env=server.home).returncode
    lost = [fact for fact in told if fact not in kept]
    half = max(sizes[: len(sizes) // 2])
    print(f"{len(told)} told, {len(lost)} lost, {len(wrong)} wrong, {half >> 10} → {max(sizes) >> 10} MB, exit code {code}, verify {verified}")
    print(*wrong[:5], *lost[:5], sep="\n")
    sys.exit(bool(lost or wrong or code or verified or max(sizes) > 1.25 * half))


main()
