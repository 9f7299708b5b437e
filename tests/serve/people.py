"""What many people cost: `people.py PROGRAM [PEOPLE=50] [MINUTES=10] [MODEL]`, with python's own library alone, on Linux.

Starts PostgreSQL (Debian's package) with a role for each person, gives each a home with `sync` and a second device, and one
`serve --people` for all. First it measures one thing at a time, then people who tell and ask, and pause to think (THINK seconds,
90 unless the environment says otherwise), while their second devices exchange now and then (EXCHANGE seconds, 180). Processor
times are the kernel's (ONLY_TURNS=1 leaves out what does not depend on the model); the bytes of exchanges are counted by a proxy before PostgreSQL. Ends with what `docs/scale.md` is made of;
exit code 1 if a turn failed or something told was lost.
"""

import collections
import glob
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = sys.argv[1]
PEOPLE = int(sys.argv[2]) if len(sys.argv) > 2 else 50
MINUTES = float(sys.argv[3]) if len(sys.argv) > 3 else 10
MODEL = ["--model", sys.argv[4]] if len(sys.argv) > 4 else []
THINK, EXCHANGE = float(os.environ.get("THINK", 90)), float(os.environ.get("EXCHANGE", 180))
TICK = os.sysconf("SC_CLK_TCK")
NOBODY = 65534
FIRST = "Clara Tom Ida Robin Jonas Mara Nils Vera Otto Lena Ruben Signe Paul Greta Hugo Alma".split()
LAST = "Berg Costa Dahl Evans Fabre Graf Holm Ilic Jansen Kovac Lind Moreau Novak Ortiz Petit Rossi".split()
CITIES = "Ghent Lund Umeå Porto Graz Leeds Turin Bergen Lyon Cork Delft Basel".split()
KIN = "sister brother cousin neighbour colleague aunt uncle friend".split()
WORK = "a vet|a baker|a nurse|a teacher|a carpenter|an architect".split("|")
WORLD = ["What is the capital of France?", "Why is the sky blue?", "How do I boil an egg?", "What is a prime number?"]
SMALL = ["Good morning!", "Thank you.", "I am a bit tired today.", "How are you?"]


def stat(pid, children=False):
    """Processor seconds of a process, and of children that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(fields[i]) for i in ((11, 12, 13, 14) if children else (11, 12))) / TICK


def kilobytes(pid, what):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


def size(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).glob("memory.db*"))


class Postgres:
    def __init__(self, folder):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.user = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
        self.dir, self.port, self.bytes = f"{folder}/postgres", free_port(), [0, 0]
        os.mkdir(self.dir)
        pathlib.Path(f"{self.dir}/password").write_text("owner")
        if self.user:
            for path in (folder, self.dir, f"{self.dir}/password"):
                os.chown(path, NOBODY, NOBODY)
        auth = ["--auth=scram-sha-256", f"--pwfile={self.dir}/password"]
        self.run("initdb", "-D", f"{self.dir}/data", "-U", "owner", "-E", "UTF8", *auth)
        options = f"-p {self.port} -k {self.dir} -c listen_addresses=127.0.0.1"
        self.run("pg_ctl", "-w", "-s", "-D", f"{self.dir}/data", "-l", f"{self.dir}/log", "-o", options, "start")
        self.pid = int(pathlib.Path(f"{self.dir}/data/postmaster.pid").read_text().split()[0])
        self.sql("CREATE DATABASE notes", "postgres")
        self.proxy = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def run(self, name, *args):
        subprocess.run([f"{self.bin}/{name}", *args], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.user)

    def sql(self, text, database="notes"):
        url = f"postgres://owner:owner@127.0.0.1:{self.port}/{database}"
        args = [f"{self.bin}/psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", text, url]
        return subprocess.run(args, check=True, capture_output=True, text=True).stdout.strip()

    def seconds(self):
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        living = 0.0
        for pid in children:
            try:
                living += stat(pid)
            except OSError:
                pass
        return stat(self.pid, True) + living

    def sessions(self):
        return int(self.sql("SELECT sessions FROM pg_stat_database WHERE datname = 'notes'", "postgres"))

    def url(self, role):
        return f"postgres://{role}:{role}@127.0.0.1:{self.proxy.getsockname()[1]}/notes"

    def accept(self):
        while True:
            near, _ = self.proxy.accept()
            far = socket.create_connection(("127.0.0.1", self.port))
            for way, (a, b) in enumerate([(near, far), (far, near)]):
                threading.Thread(target=self.pump, args=(a, b, way), daemon=True).start()

    def pump(self, a, b, way):
        try:
            while data := a.recv(1 << 16):
                self.bytes[way] += len(data)
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def stop(self):
        self.run("pg_ctl", "-s", "-D", f"{self.dir}/data", "-m", "immediate", "stop")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def cli(home, *args):
    """What a command says, its processor seconds, and how much memory it took (MB)."""
    with tempfile.TemporaryFile() as errors:
        env = {"INGLENOOK_HOME": str(home), "HOME": str(home)}
        process = subprocess.Popen([PROGRAM, *args], env=env, stdout=subprocess.PIPE, stderr=errors)
        said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{args}: {errors.read().decode()}")
    return said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Server:
    def __init__(self, folder, people):
        env = {"INGLENOOK_HOME": f"{folder}/own", "HOME": folder}
        args = [PROGRAM, "serve", "--port", "0", "--people", f"{folder}/people", *MODEL]
        self.log = open(f"{folder}/server.log", "a")
        self.process = subprocess.Popen(args, env=env, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.host = self.process.stdout.readline().strip().removeprefix("http://").removesuffix("/v1")
        self.pid = self.process.pid
        self.tokens = {p: pathlib.Path(f"{folder}/people/{p}/serve-token").read_text().strip() for p in people}

    def post(self, person, path, body):
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self.tokens[person]}"})
        response = connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            raise RuntimeError(f"{person} {path} {response.status} {text[:300]}")
        return json.loads(text)

    def say(self, person, text, **fields):
        return self.post(person, "/v1/chat/completions", {"model": "inglenook", "messages": [{"role": "user", "content": text}], **fields})

    def agent(self, person, method, **params):
        return self.post(person, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def seconds(self):
        return stat(self.pid)

    def of_threads(self):
        """Processor seconds of the threads that are there, by name."""
        seconds = collections.Counter()
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                seconds[(task / "comm").read_text().strip()] += stat(f"{self.pid}/task/{task.name}")
            except OSError:
                pass
        return seconds


def quiet(server):
    """Waits until nothing is left to build, and returns what the server takes then, in milliseconds of the processor a second."""
    for _ in range(40):
        before = server.seconds()
        time.sleep(6)
        if (rate := (server.seconds() - before) / 6) < 0.05:
            break
    before = server.seconds()
    time.sleep(15)
    return min(rate, (server.seconds() - before) / 15) * 1000


def fact(rng):
    name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
    return name, f"My {rng.choice(KIN)} {name} lives in {rng.choice(CITIES)} and works as {rng.choice(WORK)}."


def one_at_a_time(server, people):
    """Processor seconds of one request of each kind, in a memory that holds something, with nothing else under way."""
    rng, person = random.Random(1), people[0]
    names = []
    for _ in range(15):
        name, text = fact(rng)
        names.append(name)
        server.say(person, text, memory=True)
    idle = quiet(server)
    question = lambda: f"Where does {rng.choice(names)} live?"
    kinds = {
        "one text embedded": lambda: server.post(person, "/v1/embeddings", {"model": "inglenook", "input": question()}),
        "recall (MCP)": lambda: server.agent(person, "tools/call", name="recall", arguments={"question": question()}),
        "tells": lambda: server.say(person, fact(rng)[1], memory=True),
        "asks memory": lambda: server.say(person, question(), memory=True),
        "asks of the world": lambda: server.say(person, rng.choice(WORLD), memory=True),
        "small talk": lambda: server.say(person, rng.choice(SMALL), memory=True),
    }
    for kind, run in kinds.items():
        run()
        before, since, replies = server.seconds(), time.monotonic(), [run() for _ in range(12)]
        wall = time.monotonic() - since
        spent = server.seconds() - before
        usage = [r["usage"] for r in replies if "completion_tokens" in r.get("usage", {})]
        tokens = "".join(f", {name} {statistics.mean(u[name] for u in usage):.0f}" for name in ("prompt_tokens", "completion_tokens") if usage)
        print(f"{kind:22} {spent / 12:.3f} s of the processor, {wall / 12:.3f} s{tokens}", flush=True)
        time.sleep(5)
    print(f"idle, {PEOPLE} homes open: {idle:.0f} ms of the processor a second")


def exchanges(folder, postgres, people):
    """What an exchange costs, with nothing new and with one message."""
    for what in ("nothing new", "one message"):
        if what == "one message":
            for n, person in enumerate(people):
                line = {"role": "user", "content": f"My lucky number is {n * 7 + 100}.", "created_at": "2026-11-16T10:00:00+01:00"}
                pathlib.Path(f"{folder}/line.jsonl").write_text(json.dumps(line))
                cli(f"{folder}/devices/{person}", "import", f"{folder}/line.jsonl")
        seconds, sessions, bytes_ = postgres.seconds(), postgres.sessions(), list(postgres.bytes)
        costs = [cli(f"{folder}/devices/{person}", "sync", "now") for person in people]
        time.sleep(2)
        n = postgres.sessions() - sessions
        up, down = (after - before for after, before in zip(postgres.bytes, bytes_))
        print(
            f"exchange, {what}: PostgreSQL {(postgres.seconds() - seconds) / n * 1000:.1f} ms of the processor, `sync now` "
            f"{statistics.mean(c[1] for c in costs) * 1000:.0f} ms and {max(c[2] for c in costs):.0f} MB, {up / n:.0f} bytes there, {down / n:.0f} back",
            flush=True,
        )


def a_year(folder, postgres):
    """A memory of many messages: what building it costs, and how large it is."""
    rng, home = random.Random(2), f"{folder}/year"
    lines = []
    for n in range(300):
        at = f"2026-{1 + n // 28:02}-{1 + n % 28:02}T{8 + n % 3 * 4:02}:00"
        text = fact(rng)[1] if n % 2 else f"{rng.choice(SMALL)} Did you know that {rng.choice(WORLD)[:-1].lower()} is a good question?"
        lines += [{"role": "user", "content": text, "created_at": f"{at}:00+01:00"}, {"role": "assistant", "content": "I will keep that in mind. Is there more that you want to tell me?", "created_at": f"{at}:20+01:00"}]
    pathlib.Path(f"{folder}/year.jsonl").write_text("\n".join(map(json.dumps, lines)))
    cli(home, "sync", "init", postgres.url("year"))
    _, imported, _ = cli(home, "import", f"{folder}/year.jsonl")
    _, built, rss = cli(home, "memory", "consolidate", "--wait")
    _, sent, _ = cli(home, "sync", "now")
    stats = json.loads(cli(home, "memory", "stats", "--json")[0])
    rows, held = postgres.sql("SELECT count(*), sum(octet_length(bytes)) FROM inglenook_piece WHERE person = 'year'").split("|")
    print(
        f"{len(lines)} messages ({stats['semantics']} facts): import {imported:.1f} s, memory {built:.1f} s ({built / len(lines) * 1000:.1f} ms a message), {rss:.0f} MB; "
        f"on the disk {size(home) / len(lines):.0f} bytes a message; first exchange {sent:.1f} s, {rows} rows, {int(held) / len(lines):.0f} bytes a message",
        flush=True,
    )


def live(server, person, until, told, turns, wrong):
    rng, names = random.Random(person), []
    time.sleep(rng.random() * THINK)
    while time.monotonic() < until:
        kind = rng.choices(["tells", "asks memory", "world", "small talk"], [40, 35, 15, 10])[0]
        name, text = fact(rng)
        if kind == "asks memory" and names:
            text = f"Where does {rng.choice(names)} live?"
        elif kind == "world":
            text = rng.choice(WORLD)
        elif kind == "small talk":
            text = rng.choice(SMALL)
        else:
            kind = "tells"
        since = time.monotonic()
        try:
            server.say(person, text, memory=True, max_tokens=120)
            turns.append((kind, time.monotonic() - since))
            if kind == "tells":
                told.append((person, text))
                names.append(name)
        except Exception as error:
            wrong.append((person, repr(error)))
        time.sleep(min(rng.expovariate(1 / THINK), max(until - time.monotonic(), 0)))


def exchange(folder, person, until, costs, wrong):
    rng = random.Random(person + "2")
    while True:
        time.sleep(min(rng.expovariate(1 / EXCHANGE), max(until - time.monotonic(), 0)))
        if time.monotonic() >= until:
            return
        try:
            costs.append(cli(f"{folder}/devices/{person}", "sync", "now")[1])
        except RuntimeError as error:
            wrong.append((person, repr(error)))


def together(folder, postgres, server, people):
    told, turns, costs, wrong, load, connections, rss = [], [], [], [], [], [], []
    begun, until = time.monotonic(), time.monotonic() + MINUTES * 60
    before = server.seconds(), server.of_threads(), postgres.seconds(), postgres.sessions(), list(postgres.bytes), postgres.sql("SELECT pg_current_wal_lsn()")
    disk = sum(size(f"{folder}/people/{p}") for p in people)
    threads = [threading.Thread(target=live, args=(server, p, until, told, turns, wrong)) for p in people]
    threads += [threading.Thread(target=exchange, args=(folder, p, until, costs, wrong)) for p in people]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        time.sleep(min(10, MINUTES * 6))
        load.append(os.getloadavg()[0])
        rss.append(kilobytes(server.pid, "VmRSS") >> 10)
        connections.append(int(postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'notes' AND usename <> 'owner'")))
        print(f"{time.monotonic() - begun:5.0f} s  {len(turns)} turns, {rss[-1]} MB, load {load[-1]:.1f}", flush=True)
    for thread in threads:
        thread.join()
    quiet(server)
    spent, n = server.seconds() - before[0], len(turns)
    by_thread = server.of_threads() - before[1]
    n_all = postgres.sessions() - before[3]
    up, down = (after - b for after, b in zip(postgres.bytes, before[4]))
    wal = int(postgres.sql(f"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{before[5]}')"))
    wall = time.monotonic() - begun
    print(f"\n{PEOPLE} people, {wall:.0f} s, {n} turns, {len(told)} told, {len(wrong)} failed, load average {min(load):.1f} to {max(load):.1f}")
    for kind in sorted({k for k, _ in turns}):
        took = sorted(t for k, t in turns if k == kind)
        print(f"  {kind:12} {len(took):4}, median {statistics.median(took):.2f} s, nine of ten within {took[len(took) * 9 // 10]:.2f} s, longest {took[-1]:.2f} s")
    print(f"server: {spent:.1f} s of the processor, {spent / n:.3f} s a turn, all in; {100 * spent / wall / os.cpu_count():.0f} % of {os.cpu_count()} cores")
    print("  threads that stay:", ", ".join(f"{name} {s:.2f} s" for name, s in by_thread.most_common(8)))
    pg = postgres.seconds() - before[2]
    n_server = n_all - len(costs)
    print(f"exchanges: {n_all}, {n_server} of them the server's ({by_thread['exchanges'] / max(n_server, 1) * 1000:.1f} ms of its processor each), {n_server / n:.2f} a turn")
    print(f"  `sync now`: {len(costs)}, {statistics.mean(costs) * 1000 if costs else 0:.0f} ms of the processor each")
    print(f"PostgreSQL: {pg:.2f} s of the processor, {pg / n_all * 1000:.1f} ms an exchange; {up / n_all:.0f} bytes there, {down / n_all:.0f} back, {wal / n_all:.0f} bytes of WAL; at most {max(connections)} connections seen")
    rows = postgres.sql("SELECT count(*), sum(octet_length(bytes)), pg_total_relation_size('inglenook_piece') FROM inglenook_piece WHERE person <> 'year'").split("|")
    print(f"  rows a person {int(rows[0]) / PEOPLE:.1f}, bytes a person {int(rows[1]) / PEOPLE:.0f}; the table {int(rows[2])} bytes")
    grown = sum(size(f"{folder}/people/{p}") for p in people) - disk
    print(f"homes: {grown / PEOPLE / 1024:.0f} KB grown each, {size(f'{folder}/people/{people[-1]}') / 1024:.0f} KB one; at most {max(rss)} MB of memory in the process")
    print(*wrong[:5], sep="\n")
    return told, wrong


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="people-")
    people = [f"p{n:03}" for n in range(PEOPLE)]
    postgres, server = Postgres(folder), None
    try:
        postgres.sql(cli(f"{folder}/own", "sync", "sql")[0])
        for role in [*people, "year"]:
            postgres.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'; GRANT SELECT, INSERT, DELETE ON inglenook_piece TO {role}")
        for person in people:
            said = cli(f"{folder}/people/{person}", "sync", "init", postgres.url(person), "--name", "server")[0]
            code = next(line.strip() for line in said.splitlines() if len(line.strip()) == 34)
            cli(f"{folder}/devices/{person}", "sync", "init", postgres.url(person), "--name", "phone", "--code", code)
        print(f"{PEOPLE} homes with two devices each; load average {os.getloadavg()[0]:.1f}; {PROGRAM} {' '.join(MODEL)}", flush=True)
        if "ONLY_TURNS" not in os.environ:
            exchanges(folder, postgres, people)
            a_year(folder, postgres)
        server = Server(folder, people)
        server.say(people[0], "Good morning!", memory=True)
        sizes = [kilobytes(server.pid, "RssAnon")]
        for person in people[1:]:
            server.agent(person, "tools/list")
            sizes.append(kilobytes(server.pid, "RssAnon"))
        print(f"memory: {kilobytes(server.pid, 'VmRSS') >> 10} MB with {PEOPLE} open, of it {sizes[-1] >> 10} MB its own; {(sizes[-1] - sizes[0]) / max(PEOPLE - 1, 1):.0f} KB a home that was just opened")
        print(f"threads {kilobytes(server.pid, 'Threads')}, open files {len(os.listdir(f'/proc/{server.pid}/fd'))}")
        one_at_a_time(server, people)
        told, wrong = together(folder, postgres, server, people)
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(60)
        kept = {p: cli(f"{folder}/people/{p}", "export")[0] for p in people}
        for person in people:
            cli(f"{folder}/people/{person}", "memory", "verify")
            cli(f"{folder}/devices/{person}", "sync", "now")
        elsewhere = {p: cli(f"{folder}/devices/{p}", "export")[0] for p in people}
        lost = [(p, text) for p, text in told if text not in kept[p] or text not in elsewhere[p]]
        print(f"exit code {code}; {len(told)} told, {len(lost)} lost on either device", *lost[:3], sep="\n")
        sys.exit(bool(lost or wrong or code))
    finally:
        if server:
            server.process.kill()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


main()
