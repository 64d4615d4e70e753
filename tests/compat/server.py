"""A server with every kind of answer a profile can be fetched from, right or wrong.

SPDX-License-Identifier: Apache-2.0
"""
import http.server
import pathlib
import ssl
import subprocess
import threading
import time
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        """Symbols: every address is a function of its own name, and of how it was asked for."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        lines = [f"0x{int(a, 16):x} fn_{int(a, 16):x}" for a in body.split("+") if a]
        if "/symbol" not in self.path or self.headers.get("Content-Type") != "application/octet-stream":
            return self.answer(404, b"no symbols here\n")
        if self.path.startswith("/odd/"):
            return self.answer(200, self.odd_symbols(lines).encode())
        if self.path.startswith("/huge/"):
            return self.answer(200, b"0x12345678901234567 far away\n")
        if self.path.startswith("/refused/"):
            return self.answer(500, b"not today\n", [("Content-Type", "text/plain; charset=utf-8"), ("X-Go-Pprof", "1")])
        if self.path.startswith("/missing/"):
            return self.answer(404, b"not here\n", [("Content-Type", "text/plain")])
        if self.path.startswith("/moved/"):
            return self.answer(307, b"", [("Location", "/debug/pprof/symbol")])
        return self.answer(200, ("num_symbols: 1\n" + "\n".join(lines) + "\n").encode())

    @staticmethod
    def odd_symbols(lines):
        """What may be on a line besides, and what a name may be."""
        address = [line.split()[0] for line in lines] + ["0x1"] * 8
        return (f"num_symbols: 1\n\n{lines[0]}\n{address[1]}\n at {address[2]}\t \t two words \r\n"
                f"{address[3]} _ZN3foo3barEi\n{address[4]} same\n{address[5]} same\n0xg 0x 00{address[6]} zeros\n"
                f"{address[0]} again\n0x0 nothing\n{address[7]} cut")

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        name = url.path.removeprefix("/debug/pprof/").lstrip("/")
        special = getattr(self, "get_" + name.replace("-", "_"), None)
        if special:
            return special(url)
        if name == "profile":
            name = "etcd-cpu.pb.gz"
        if name.endswith("/pprof/heap"):
            name = "unsymbolized.pb"
        path = self.server.profiles / name
        if name and path.is_file():
            return self.answer(200, path.read_bytes(), [("Content-Type", "application/octet-stream")])
        return self.answer(404, b"404 page not found\n", [("Content-Type", "text/plain; charset=utf-8")])

    # Answers that are wrong

    def get_unknown(self, url):
        self.answer(404, b"Unknown profile\n", [("Content-Type", "text/plain; charset=utf-8"), ("X-Go-Pprof", "1")])

    def get_busy(self, url):
        self.answer(500, b"Could not enable CPU profiling: cpu profiling already in use\n",
                    [("Content-Type", "text/plain; charset=utf-8"), ("X-Go-Pprof", "1")])

    def get_html(self, url):
        self.answer(200, b"<html><body>Login</body></html>", [("Content-Type", "text/html")])

    def get_error_html(self, url):
        self.answer(503, b"<html>Unavailable</html>", [("Content-Type", "text/html"), ("X-Go-Pprof", "1")])

    def get_empty(self, url):
        self.answer(200, b"")

    def get_nothing(self, url):
        self.answer(204, b"")

    def get_moved(self, url):
        self.answer(302, b"", [("Location", "/debug/pprof/etcd-heap.pb.gz")])

    def get_circle(self, url):
        self.answer(302, b"", [("Location", "/debug/pprof/circle")])

    def get_cut(self, url):
        data = (self.server.profiles / "etcd-heap.pb.gz").read_bytes()
        self.answer(200, data[:1000], length=len(data))
        self.close_connection = True

    def get_truncated(self, url):
        self.answer(200, (self.server.profiles / "etcd-heap.pb.gz").read_bytes()[:1000])

    def get_silent(self, url):
        time.sleep(9)
        self.close_connection = True

    def get_query(self, url):
        """The query is the answer: shows how it was rewritten."""
        self.answer(400, f"asked for {self.path}\n".encode(), [("Content-Type", "text/plain"), ("X-Go-Pprof", "1")])

    def get_chunked(self, url):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        data = (self.server.profiles / "etcd-heap.pb.gz").read_bytes()
        for i in range(0, len(data), 4000):
            part = data[i:i + 4000]
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")


def start(profiles, certificate=None):
    """A server on a port of its own; the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *args: None  # clients may hang up
    server.profiles = pathlib.Path(profiles)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def certify(folder):
    """A certificate nobody has signed but itself."""
    pem = pathlib.Path(folder) / "self-signed.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem,
                    "-out", str(pem) + ".crt"], check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + pathlib.Path(str(pem) + ".crt").read_bytes())
    return pem
