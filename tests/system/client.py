# SPDX-License-Identifier: Apache-2.0
"""Clients that run inside a namespace of the lab, started by clients.py; each verb prints JSON lines.

Sockets by hand, because what matters is how a connection fails: refused, reset, or silent, and after how long.
"""

import hashlib
import json
import os
import select
import socket
import sys
import threading
import time

from serving import serve_half_close, serve_udp, serve_upload

TIMEOUT = 5.0


def say(**values):
    print(json.dumps(values), flush=True)


def told(line):
    """Waits for one line on standard input; false at its end."""
    return sys.stdin.readline().strip() == line


def outcome(error):
    """The kind of a failure: what the application sees."""
    kinds = {ConnectionRefusedError: "refused", ConnectionResetError: "reset", BrokenPipeError: "reset",
             socket.timeout: "silence"}
    return kinds.get(type(error), type(error).__name__)


def family_of(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def connect(host, port, timeout=TIMEOUT, receive_buffer=None):
    sock = socket.socket(family_of(host), socket.SOCK_STREAM)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(timeout)
    try:
        sock.connect((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def request(path, keep):
    connection = "keep-alive" if keep else "close"
    return f"GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: {connection}\r\n\r\n".encode()


def read_reply(sock):
    """The body of one HTTP reply that has a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += more(sock)
    head, _, body = data.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise OSError("status " + head.split(b"\r\n")[0].decode())
    length = int(next(l.split(b":")[1] for l in head.split(b"\r\n") if l.lower().startswith(b"content-length")))
    while len(body) < length:
        body += more(sock)
    return body[:length]


def more(sock):
    data = sock.recv(65536)
    if not data:
        raise EOFError("closed early")
    return data


def http_once(host, path="/", timeout=TIMEOUT):
    with connect(host, 80, timeout) as sock:
        sock.sendall(request(path, keep=False))
        return read_reply(sock).decode().strip()


def ftp_once(host):
    """Logs in as anonymous; the greeting tells which server it is."""
    with connect(host, 21) as sock, sock.makefile("rwb") as stream:
        reply = greeting = ftp_reply(stream, "220")
        for command, codes in (("USER anonymous", ("230", "331")), ("PASS lab@", ("230",)), ("QUIT", ("221",))):
            if command.startswith("PASS") and reply.startswith("230"):
                continue  # logged in already: no password is wanted
            stream.write(command.encode() + b"\r\n")
            stream.flush()
            reply = ftp_reply(stream, *codes)
        return greeting.split()[1]


def ftp_reply(stream, *codes):
    line = stream.readline().decode().strip()
    if not line.startswith(codes):
        raise OSError(f"FTP said '{line}', not {' or '.join(codes)}")
    return line


def repeat(once, count, threads):
    """Calls `once` `count` times from several threads; who answered how often, and every failure."""
    servers, failures, left, lock = {}, [], [count], threading.Lock()

    def work():
        while True:
            with lock:
                left[0] -= 1
                if left[0] < 0:
                    return
            try:
                name = once()
            except (OSError, EOFError) as error:
                with lock:
                    failures.append(f"{outcome(error)}: {error}")
            else:
                with lock:
                    servers[name] = servers.get(name, 0) + 1

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    say(servers=servers, failures=failures)


def http(host, count, threads):
    repeat(lambda: http_once(host), int(count), int(threads))


def ftp(host, count, threads):
    repeat(lambda: ftp_once(host), int(count), int(threads))


def dial(host, port, count, timeout):
    """Opens connections one after another; how each ended, and the longest wait in ms."""
    seen, longest = {}, 0.0
    for _ in range(int(count)):
        began = time.monotonic()
        try:
            connect(host, int(port), float(timeout)).close()
            kind = "connected"
        except OSError as error:
            kind = outcome(error)
        longest = max(longest, time.monotonic() - began)
        seen[kind] = seen.get(kind, 0) + 1
    say(outcomes=seen, longest_ms=round(longest * 1000, 1))


def load(host, threads):
    """Requests without pause until standard input ends; then the sums. A line "count" asks for the sum so far."""
    sums, failures, stop, lock = {"done": 0}, [], threading.Event(), threading.Lock()

    def work():
        while not stop.is_set():
            began = time.monotonic()
            try:
                http_once(host, "/small")
                with lock:
                    sums["done"] += 1
            except (OSError, EOFError) as error:
                with lock:
                    failures.append(f"{outcome(error)} after {time.monotonic() - began:.2f} s: {error}")

    workers = [threading.Thread(target=work) for _ in range(int(threads))]
    for worker in workers:
        worker.start()
    while told("count"):
        say(done=sums["done"], failures=failures)
    stop.set()
    for worker in workers:
        worker.join()
    say(done=sums["done"], failures=failures)


def hold(host, count, timeout):
    """Opens keep-alive sessions; each line "ask" sends a request on every one, and tells who fell away."""
    held = [connect(host, 80, float(timeout)) for _ in range(int(count))]

    def ask(sock):
        try:
            sock.sendall(request("/", keep=True))
            return read_reply(sock).decode().strip()
        except (OSError, EOFError) as error:
            return outcome(error)
    say(answers=[ask(s) for s in held])
    while told("ask"):
        say(answers=[ask(s) for s in held])


def download(host, path):
    """A slow download; a line "go" lets it run at full speed. Tells its start, and how it ended."""
    fast = threading.Event()
    threading.Thread(target=lambda: told("go") and fast.set(), daemon=True).start()
    digest, last = hashlib.sha256(), time.time()
    try:
        with connect(host, 80, timeout=30, receive_buffer=32768) as sock:  # small: a reset is not to wait behind data
            sock.sendall(request(path, keep=False))
            head, _, body = more(sock).partition(b"\r\n\r\n")
            say(event="started", port=sock.getsockname()[1], server=server_of(head))
            digest.update(body)
            while body := sock.recv(65536 if fast.wait(0.02) else 8192):
                digest.update(body)
                last = time.time()
        say(event="done", sha256=digest.hexdigest())
    except (OSError, EOFError) as error:
        say(event=outcome(error), at=time.time(), gap_ms=round((time.time() - last) * 1000))


def server_of(head):
    """The lab's servers name themselves in a header."""
    return next((l.split(b":")[1].strip().decode() for l in head.split(b"\r\n") if l.startswith(b"X-Server:")), "")


def half_close(host, port):
    """Sends a request, closes its own direction, and reads to the end."""
    with connect(host, int(port), timeout=30) as sock:
        sock.sendall(b"give\n")
        sock.shutdown(socket.SHUT_WR)
        digest, size = hashlib.sha256(), 0
        try:
            while data := sock.recv(65536):
                digest.update(data)
                size += len(data)
            say(bytes=size, sha256=digest.hexdigest(), ended="closed")
        except OSError as error:
            say(bytes=size, sha256="", ended=outcome(error))


def udp_socket(host, port, timeout):
    """A connected socket: only what comes from the VIP is heard, whoever sent it."""
    sock = socket.socket(family_of(host), socket.SOCK_DGRAM)
    sock.settimeout(timeout)
    sock.connect((host, int(port)))
    return sock


def udp_once(sock, word):
    """Who echoed a word."""
    sock.send(word)
    while True:
        server, _, echoed = sock.recv(65536).partition(b" ")
        if echoed == word:
            return server.decode()  # else an answer that came too late for the word before


def udp(host, port, count, size):
    """Requests one after another, each from a port of its own and with octets of its own."""
    def once():
        with udp_socket(host, port, TIMEOUT) as sock:
            return udp_once(sock, os.urandom(int(size)))
    repeat(once, int(count), 1)


def udp_hold(host, port, timeout):
    """One session; each line "ask" sends a request, and tells who answered."""
    with udp_socket(host, port, float(timeout)) as sock:
        number = 0
        while True:
            number += 1
            try:
                say(answer=udp_once(sock, b"%d" % number))
            except OSError as error:
                say(answer=outcome(error))
            if not told("ask"):
                return


def stream(host, port, every):
    """One session with a datagram every so many seconds until standard input ends; then the longest time between two
    answers, and who gave them. A line "count" asks for the answers so far."""
    seen, stop = {"answers": 0, "gap": 0.0, "servers": set()}, threading.Event()

    def listen(sock):
        last = None
        while not stop.is_set():
            try:
                seen["servers"].add(sock.recv(65536).partition(b" ")[0].decode())
            except OSError:  # nothing now, or a refusal, which no server stands behind
                continue
            now = time.monotonic()
            seen.update(answers=seen["answers"] + 1, gap=max(seen["gap"], now - (last or now)))
            last = now

    def send(sock):
        while not stop.wait(float(every)):
            sock.send(b"x")

    with udp_socket(host, port, 0.2) as sock:
        threads = [threading.Thread(target=work, args=(sock,)) for work in (listen, send)]
        for thread in threads:
            thread.start()
        while told("count"):
            say(answers=seen["answers"])
        stop.set()
        for thread in threads:
            thread.join()
    say(answers=seen["answers"], gap_ms=round(seen["gap"] * 1000), servers=sorted(seen["servers"]))


IP_RECVERR, IPV6_RECVERR = 11, 25  # of Linux; the socket module has no names for them


def one_hop(kind, host, port):
    """The ICMP error about a packet that may make one hop: a datagram, or the SYN of a connection."""
    v6 = family_of(host) == socket.AF_INET6
    level, hops, errors = ((socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, IPV6_RECVERR) if v6 else
                           (socket.IPPROTO_IP, socket.IP_TTL, IP_RECVERR))
    with socket.socket(family_of(host), {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}[kind]) as sock:
        sock.setsockopt(level, hops, 1)
        sock.setsockopt(level, errors, 1)
        sock.setblocking(False)
        sock.connect_ex((host, int(port)))
        if kind == "udp":
            sock.send(b"x")
        poll = select.poll()
        poll.register(sock, 0)  # errors alone
        if not poll.poll(TIMEOUT * 1000):
            return say(error="silence")
        (_, _, error), *_ = sock.recvmsg(512, 512, socket.MSG_ERRQUEUE)[1]
    icmp_type, code, sender = error[5], error[6], error[24:40] if v6 else error[20:24]
    say(type=icmp_type, code=code, sender=socket.inet_ntop(family_of(host), sender))


def upload(host, port, file):
    """Sends a file, closes its own direction, and tells what the server says of it."""
    with connect(host, int(port), timeout=30) as sock, open(file, "rb") as source:
        try:
            sock.sendfile(source)
            sock.shutdown(socket.SHUT_WR)
            say(sha256=sock.recv(256).decode())
        except OSError as error:
            say(sha256=outcome(error))


if __name__ == "__main__":
    VERBS = {"http": http, "ftp": ftp, "dial": dial, "load": load, "hold": hold, "download": download, "upload": upload,
             "udp": udp, "udp-hold": udp_hold, "stream": stream, "one-hop": one_hop, "half-close": half_close,
             "serve-udp": serve_udp, "serve-upload": serve_upload, "serve-half-close": serve_half_close}
    VERBS[sys.argv[1]](*sys.argv[2:])
