"""A minimal S3 server on the loopback interface, which remembers every byte that reached it.

Buckets exist as soon as they are named. It serves what s3fs and paraes.objects ask for: objects,
ranges with If-Match, and multipart uploads. `fault` sees each request before it is served, and
`after` sees what completes an upload when that is done and before it is answered.
"""

import hashlib
import http.server
import re
import socketserver
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape


class Refused(Exception):
    """What a fault raises: an error of S3."""

    def __init__(self, status, code):
        super().__init__(code)
        self.status = status
        self.code = code


class Cut(Exception):
    """What a fault raises: the connection ends, after `bytes` bytes of the body in either
    direction."""

    def __init__(self, size=0):
        super().__init__()
        self.bytes = size


class Short(Exception):
    """What a fault raises: an answer that claims to be whole, and has only its first bytes."""

    def __init__(self, size):
        super().__init__()
        self.bytes = size


class Upload:
    def __init__(self, name):
        self.name = name
        self.parts = {}
        self.tags = {}
        # Every body that came for a part, also if it was cut or refused.
        self.seen = []


class Request:
    def __init__(self, method, bucket, key, query, headers):
        self.method, self.bucket, self.key = method, bucket, key
        self.query, self.headers = query, headers

    @property
    def part(self):
        """The number of the part that it uploads, from 1; else None."""
        if self.method == "PUT" and "partNumber" in self.query:
            return int(self.query["partNumber"])
        return None


class Sink:
    """keeps: whether the bodies are kept; for measurements they are not."""

    def __init__(self, keeps=True):
        self.keeps = keeps
        self.objects = {}  # name: (body, tag, time)
        self.uploads = {}  # those that are not over
        self.all_uploads = {}
        self.requests = []
        self.fault = None
        self.after = None
        self.lock = threading.RLock()
        sink = self

        class Handler(_Handler):
            pass

        Handler.sink = sink

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()
        self.options = {"endpoint_url": self.url, "key": "test", "secret": "test",
                        "skip_instance_cache": True,
                        "client_kwargs": {"region_name": "us-east-1"},
                        "config_kwargs": {"retries": {"max_attempts": 1}}}

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def put(self, name, body):
        with self.lock:
            self.objects[name] = (bytes(body), f'"{hashlib.md5(body).hexdigest()}"', time.time())

    def body(self, name):
        return self.objects[name][0]

    def count(self, method, part=False):
        return sum(one.method == method and (one.part is not None) == part for one in self.requests)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sink = None
    _memory = b""
    wbufsize = 1 << 16

    def log_message(self, *arguments):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _request(self):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        return Request(self.command, bucket, key, query, self.headers)

    def _body(self, limit=None):
        size = int(self.headers.get("Content-Length") or 0)
        wanted = size if limit is None else min(size, limit)
        if self.sink.keeps:
            memory = bytearray(wanted)
        else:  # new memory for each part would take longer than what is measured
            if len(self._memory) < wanted:
                self._memory = bytearray(wanted)
            memory = memoryview(self._memory)[:wanted]
        view, done = memoryview(memory), 0
        while done < wanted:
            n = self.rfile.readinto(view[done:done + (1 << 20)])
            if not n:
                return bytes(memory[:done])
            done += n
        return memory

    def _answer(self, status, body=b"", sent=None, **headers):
        """`sent`: how many bytes of the body arrive."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(memoryview(body)[:sent])

    def _xml(self, text, status=200):
        self._answer(status, b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode(),
                     Content_Type="application/xml")

    def _serve(self):
        request = self._request()
        sink = self.sink
        with sink.lock:
            sink.requests.append(request)
        body = None
        try:
            if sink.fault is not None:
                sink.fault(request)
            if self.command in ("PUT", "POST"):
                body = self._body()
                if "aws-chunked" in (self.headers.get("Content-Encoding") or ""):
                    body = _unchunked(body)
            getattr(self, f"_{self.command.lower()}")(request, body)
        except Cut as cut:
            if request.part is not None:
                self._see(request, self._body(cut.bytes))
            elif self.command == "GET":
                self._get(request, None, cut.bytes)
                self.wfile.flush()
            self.close_connection = True
            self.connection.close()
        except Short as short:
            self._get(request, None, short.bytes, says_so=True)
        except Refused as error:
            if body is None and self.command in ("PUT", "POST"):
                body = self._body()
            if request.part is not None and body is not None:
                self._see(request, body)
            if self.command == "HEAD":
                self._answer(error.status)
            else:
                self._xml(f"<Error><Code>{error.code}</Code><Message>{error.code}</Message></Error>",
                          error.status)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

    def _find(self, request):
        found = self.sink.objects.get(f"{request.bucket}/{request.key}")
        if found is None:
            raise Refused(404, "NoSuchKey")
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted != found[1]:
            raise Refused(412, "PreconditionFailed")
        return found

    def _head(self, request, _):
        if request.key:
            self._get(request, None)
        else:
            self._answer(200)

    def _get(self, request, _, limit=None, says_so=False):
        if "list-type" in request.query:
            self._list(request)
            return
        if "uploadId" in request.query:
            self._list_parts(request)
            return
        if not request.key:
            self._xml("<LocationConstraint/>")
            return
        body, tag, when = self._find(request)
        status = 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if wanted:
            begin, end = int(wanted[1]), int(wanted[2]) + 1
            if begin >= len(body):
                raise Refused(416, "InvalidRange")
            body, status = body[begin:end], 206
        if says_so:
            body = body[:limit]
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(when))
        self._answer(status, body, limit, ETag=tag, Last_Modified=date)

    def _list(self, request):
        prefix = f"{request.bucket}/" + request.query.get("prefix", "")
        found = [(name.partition("/")[2], one) for name, one in sorted(self.sink.objects.items())
                 if name.startswith(prefix)]
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(body)}</Size><ETag>{escape(tag)}</ETag>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name, (body, tag, _) in found)
        self._xml(f"<ListBucketResult><KeyCount>{len(found)}</KeyCount><IsTruncated>false"
                  f"</IsTruncated>{rows}</ListBucketResult>")

    def _upload(self, request):
        found = self.sink.uploads.get(request.query["uploadId"])
        if found is None:
            raise Refused(404, "NoSuchUpload")
        return found

    def _list_parts(self, request):
        after = int(request.query.get("part-number-marker") or 0)
        upload = self._upload(request)
        rows = [(number, tag) for number, tag in sorted(upload.tags.items()) if number > after]
        sizes = {number: part if isinstance(part, int) else len(part)
                 for number, part in upload.parts.items()}
        page = rows[:3]  # so that there are several pages
        text = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag>"
                       f"<Size>{sizes[number]}</Size></Part>" for number, tag in page)
        more = len(rows) > len(page)
        if more:
            text += f"<NextPartNumberMarker>{page[-1][0]}</NextPartNumberMarker>"
        self._xml(f"<ListPartsResult><IsTruncated>{str(more).lower()}</IsTruncated>{text}"
                  "</ListPartsResult>")

    def _see(self, request, body):
        with self.sink.lock:
            upload = self.sink.all_uploads.get(request.query["uploadId"])
            if upload is not None and self.sink.keeps:
                upload.seen.append((request.part, bytes(body)))

    def _put(self, request, body):
        if request.part is None:
            self.sink.put(f"{request.bucket}/{request.key}", body)
            self._answer(200, ETag=self.sink.objects[f"{request.bucket}/{request.key}"][1])
            return
        self._see(request, body)
        upload = self._upload(request)
        with self.sink.lock:
            if self.sink.keeps:
                tag = f'"{hashlib.md5(body).hexdigest()}"'
                upload.parts[request.part] = bytes(body)
            else:
                tag = f'"{request.part}"'
                upload.parts[request.part] = len(body)
            upload.tags[request.part] = tag
        self._answer(200, ETag=tag)

    def _post(self, request, body):
        name = f"{request.bucket}/{request.key}"
        if "uploads" in request.query:
            with self.sink.lock:
                upload_id = f"upload-{len(self.sink.all_uploads)}"
                upload = Upload(name)
                self.sink.uploads[upload_id] = self.sink.all_uploads[upload_id] = upload
            self._xml(f"<InitiateMultipartUploadResult><Bucket>{request.bucket}</Bucket><Key>"
                      f"{escape(request.key)}</Key><UploadId>{upload_id}</UploadId>"
                      "</InitiateMultipartUploadResult>")
            return
        upload = self._upload(request)
        text = bytes(body).decode()
        numbers = [int(number) for number in re.findall(r"<PartNumber>(\d+)</PartNumber>", text)]
        tags = [tag.replace("&quot;", '"') for tag in re.findall(r"<ETag>([^<]*)</ETag>", text)]
        if numbers != sorted(set(numbers)) or any(
                upload.tags.get(number) != tag for number, tag in zip(numbers, tags, strict=True)):
            raise Refused(400, "InvalidPart")
        if self.sink.keeps:
            if any(len(upload.parts[number]) < 5 << 20 for number in numbers[:-1]):
                raise Refused(400, "EntityTooSmall")
            whole = b"".join(upload.parts[number] for number in numbers)
            digests = b"".join(bytes.fromhex(tag.strip('"')) for tag in tags)
            digest = hashlib.md5(digests).hexdigest()
        else:
            whole = _Length(sum(upload.parts[number] for number in numbers))
            digest = "0"
        with self.sink.lock:
            self.sink.objects[name] = (whole, f'"{digest}-{len(numbers)}"', time.time())
            del self.sink.uploads[request.query["uploadId"]]
        if self.sink.after is not None:
            self.sink.after(request)
        self._xml("<CompleteMultipartUploadResult/>")

    def _delete(self, request, _):
        if "uploadId" in request.query:
            self._upload(request)
            with self.sink.lock:
                del self.sink.uploads[request.query["uploadId"]]
        else:
            self.sink.objects.pop(f"{request.bucket}/{request.key}", None)
        self._answer(204)


class _Length:
    """The body of an object that was thrown away."""

    def __init__(self, size):
        self._size = size

    def __len__(self):
        return self._size


def _unchunked(body):
    out, at = bytearray(), 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(bytes(body[at:end]).split(b";")[0], 16)
        if size == 0:
            return out
        out += body[end + 2:end + 2 + size]
        at = end + 4 + size


if __name__ == "__main__":  # for bench/python_package: serves until its input ends
    print(Sink(keeps=False).port, flush=True)
    sys.stdin.read()
