# SPDX-License-Identifier: Apache-2.0
"""The lab's own small servers, which client.py runs inside a namespace."""

import hashlib
import json
import select
import socket
import threading


def say_listening():
    print(json.dumps({"event": "listening"}), flush=True)


def serve_udp(name, port):
    """Echoes each datagram behind its own name, on both families."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", int(port)))
        while True:
            word, client = sock.recvfrom(65536)
            sock.sendto(name.encode() + b" " + word, client)


def serve_half_close(port, file, pause):
    """A server for half_close: reads to the client's end of file, then sends the file in two halves.

    Between them nothing is sent for `pause` seconds, which are longer than the fast ageing: the session has to outlive
    them. A connection that breaks meanwhile gets no second half."""
    listener = socket.create_server(("", int(port)), reuse_port=True)
    say_listening()
    with open(file, "rb") as source:
        content = source.read()

    def serve(sock):
        with sock:
            while sock.recv(4096):
                pass
            sock.sendall(content[: len(content) // 2])
            silence = select.poll()
            silence.register(sock, 0)  # nothing but that the connection breaks
            if not silence.poll(float(pause) * 1000):
                sock.sendall(content[len(content) // 2:])

    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


def serve_upload(port):
    """A server for upload: reads to the client's end of file and answers with the sum of what it read."""
    listener = socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
    say_listening()
    while True:
        sock, _ = listener.accept()
        digest = hashlib.sha256()
        with sock:
            while data := sock.recv(65536):
                digest.update(data)
            sock.sendall(digest.hexdigest().encode())
