# SPDX-License-Identifier: Apache-2.0
"""A debuginfod server that misbehaves in a chosen way, and counts the requests."""
import http.server
import ssl
import threading


class BadServer:
    """how: hang, 404, 500, garbage, endless, half, or the path of a file that is always sent.
    certificate: a file with a key and a certificate, for TLS."""

    def __init__(self, how, certificate=None):
        self.nr_requests = 0
        self.stopped = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.nr_requests += 1
                try:
                    outer.answer(self, how)
                except OSError:
                    pass  # the client has closed the connection

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.name = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.name}"
        if certificate:
            self.url = f"https://{self.name}"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.server.handle_error = lambda *args: None  # clients that do not trust the certificate
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, how):
        if how == "hang":
            self.stopped.wait(60)
        elif how in ("404", "500"):
            handler.send_error(int(how))
        elif how == "half":
            self.send(handler, b"\x7fELF" + bytes(5000), 10000)
        elif how == "garbage":
            self.send(handler, b"this is not an ELF", 18)
        elif how == "endless":
            handler.send_response(200)
            handler.end_headers()
            while not self.stopped.is_set():
                handler.wfile.write(bytes(1 << 16))
        else:
            with open(how, "rb") as f:
                data = f.read()
            self.send(handler, data, len(data))

    @staticmethod
    def send(handler, data, length):
        handler.send_response(200)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(data)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
