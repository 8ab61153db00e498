"""Object storage for tests: PUT, GET and lists of one bucket, for those who sign as Amazon says.

Checks presigned URLs by its own reading of "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)".
Prints its port; then, for each request, its method, path and status.
"""

import hashlib
import hmac
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

KEY, SECRET, TOKEN = sys.argv[1:4]
OBJECTS = {}
ASKED = set()
PAGE = 2  # Names in a list, so that small stores have several lists.


def code(text):
    return quote(text, safe="-_.~")


def signature(handler, query):
    """What the signature has to be."""
    date, scope = query["X-Amz-Date"], query["X-Amz-Credential"].split("/")[1:]
    names = query["X-Amz-SignedHeaders"].split(";")
    headers = "".join(f"{name}:{handler.headers[name].strip()}\n" for name in names)
    pairs = sorted((code(k), code(v)) for k, v in query.items() if k != "X-Amz-Signature")
    canonical = "\n".join([
        handler.command, quote(unquote(urlsplit(handler.path).path), safe="/-_.~"),
        "&".join(f"{k}={v}" for k, v in pairs), headers, ";".join(names), "UNSIGNED-PAYLOAD",
    ])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = ("AWS4" + SECRET).encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", date, "/".join(scope), digest])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        print(self.command, urlsplit(self.path).path, status, flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_signed(self, query):
        # Amazon answers 400 if credentials are given twice.
        if "Authorization" in self.headers or query.get("X-Amz-Security-Token", "") != TOKEN:
            return False
        if query.get("X-Amz-Credential", "").split("/")[0] != KEY:
            return False
        given = self.headers.get("If-None-Match")
        if given and "if-none-match" not in query["X-Amz-SignedHeaders"]:
            return False
        return hmac.compare_digest(signature(self, query), query["X-Amz-Signature"])

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = unquote(urlsplit(self.path).path)
        if not self.is_signed(dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))):
            return self.answer(403)
        if self.headers.get("If-None-Match") == "*" and path in OBJECTS:
            return self.answer(412)
        OBJECTS[path] = body
        return self.answer(200)

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if not self.is_signed(query):
            return self.answer(403)
        if "list-type" not in query:
            # Objects that are refused for good, and at the first attempt.
            if "/refused/" in path or "/busy/" in path and path not in ASKED:
                ASKED.add(path)
                return self.answer(403 if "/refused/" in path else 503)
            return self.answer(200, OBJECTS[path]) if path in OBJECTS else self.answer(404)
        bucket = path.rstrip("/") + "/"
        keys = [key.removeprefix(bucket) for key in sorted(OBJECTS) if key.startswith(bucket)]
        after = query.get("continuation-token", "")
        keys = [key for key in keys if key.startswith(query.get("prefix", "")) and key > after]
        more = f"<NextContinuationToken>{escape(keys[PAGE - 1])}</NextContinuationToken>" if len(keys) > PAGE else ""
        rows = "".join(
            f"<Contents><Key>{escape(quote(key))}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"0"</ETag><Size>{len(OBJECTS[bucket + key])}</Size><StorageClass>STANDARD</StorageClass></Contents>'
            for key in keys[:PAGE])
        text = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>b</Name><MaxKeys>{PAGE}</MaxKeys><EncodingType>url</EncodingType>"
            f"<IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}{rows}</ListBucketResult>")
        return self.answer(200, text.encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
