"""An API server of Kubernetes as far as Secrets go, for tests: statuses, bodies and limits are those of
a real one (kube-apiserver 1.26 and 1.32), and it can be told to fail.

It serves TLS with a certificate of its own authority, and wants the token of the one account there is.
Real clients (kubectl) can talk to it.  Where SONDE_TEST_KUBE_HOST, _PORT and _SA are set, Cluster is
the real server there instead, and cases that need failures are skipped.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import binascii
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
KEY = re.compile(r"[-._a-zA-Z0-9]+$")
REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict",
           410: "Expired", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests",
           500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
# What discovery tells of; of these only Secrets can be stored.
KINDS = {"v1": ["Secret", "Service"], "apps/v1": ["Deployment", "StatefulSet", "DaemonSet"],
         "rbac.authorization.k8s.io/v1": ["Role", "RoleBinding"],
         "operators.coreos.com/v1alpha1": ["Subscription"]}
VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete", "PATCH": "patch"}


class Status(Exception):
    def __init__(self, code, message, reason=None, details=None):
        super().__init__(message)
        self.code = code
        self.body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                     "message": message, "reason": reason or REASONS[code], "details": details or {},
                     "code": code}


class Fault:
    """What to do with a request: 'how' is a status, "before" (cut the connection before anything is
    done), "after" (do it, then cut), "lost" (do it, then answer 504), "quota" (refuse it because
    others were counted meanwhile), or "hang"."""

    def __init__(self, how, skip=0, times=1, verb=None, name=None):
        self.how, self.skip, self.times, self.verb, self.name = how, skip, times, verb, name

    def takes(self, verb, name):
        if self.times == 0 or (self.verb and verb != self.verb) or \
                (self.name and not re.search(self.name, name)):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class State:
    def __init__(self, namespace, token):
        self.namespace, self.tokens = namespace, {token}
        self.secrets, self.version = {}, 100
        self.denied, self.faults, self.log = set(), [], []
        self.whole = False  # as servers that always send all of an object, and each is large
        self.expired = 0  # how many lists are to become too old before their second page
        self.requests = None  # a list: keep them there: method, path, what is accepted, body
        self.pods = {}  # (kind, "name:port"): where it is reached, "http://127.0.0.1:1234"
        self.lock = threading.RLock()

    def fault(self, verb, name):
        with self.lock:
            for fault in self.faults:
                if fault.takes(verb, name):
                    return fault.how
        return None

    def stored(self, secret):
        self.version += 1
        meta = secret["metadata"]
        meta["resourceVersion"] = str(self.version)
        self.secrets[meta["name"]] = secret
        return secret


def check_secret(secret, namespace):
    meta = secret.get("metadata", {})
    name = meta.get("name", "")
    if len(name) > 253 or not NAME.match(name):
        raise Status(422, f'Secret "{name}" is invalid: metadata.name: Invalid value: "{name}"',
                     details={"name": name, "kind": "Secret"})
    if meta.get("namespace", namespace) != namespace:
        raise Status(400, "the namespace of the provided object does not match the namespace sent on the request")
    total = 0
    for key, value in (secret.get("data") or {}).items():
        if not KEY.match(key):
            raise Status(422, f'Secret "{name}" is invalid: data[{key}]: Invalid value: "{key}"')
        try:
            total += len(base64.b64decode(value or "", validate=True))
        except binascii.Error:
            raise Status(400, 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data '
                              'at input byte 0') from None
    for key, value in (secret.get("metadata", {}).get("labels") or {}).items():
        if len(value) > 63 or not re.match(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", value):
            raise Status(422, f'Secret "{name}" is invalid: metadata.labels: Invalid value: "{value}" of {key}')
    if total > 1 << 20:
        why = "Too long: must have at most 1048576 bytes"
        raise Status(422, f'Secret "{name}" is invalid: data: {why}',
                     details={"name": name, "kind": "Secret", "causes": [
                         {"reason": "FieldValueTooLong", "message": why, "field": "data"}]})


def selects(selector, labels):
    for term in filter(None, (selector or "").split(",")):
        if "=" in term:
            key, value = term.replace("==", "=").split("=", 1)
            if labels.get(key) != value:
                return False
        elif term.startswith("!"):
            if term[1:] in labels:
                return False
        elif term not in labels:
            return False
    return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are written one after the other
    state = None

    def log_message(self, *args):
        pass

    def partly(self, body):
        """Without the data, where that is what the client has asked for."""
        wanted = re.search(r"as=(PartialObjectMetadata(?:List)?);g=meta.k8s.io;v=v1", self.headers.get("Accept") or "")
        kind = body.get("kind")
        if not wanted or wanted[1] != {"Secret": "PartialObjectMetadata",
                                       "SecretList": "PartialObjectMetadataList"}.get(kind):
            return body
        head = {"kind": wanted[1], "apiVersion": "meta.k8s.io/v1", "metadata": body["metadata"]}
        if kind == "SecretList":
            head["items"] = [{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                              "metadata": s["metadata"]} for s in body["items"]]
        return head

    def answer(self, code, body, kind="application/json"):
        if not self.state.whole:
            body = self.partly(body)
        data = json.dumps(body).encode()
        if self.state.whole and len(body.get("items", [])) > 50:
            data += b" " * (65 << 20)
        self.send_response(code)
        self.send_header("Content-Type", kind)
        if 128 << 10 < len(data) < 4 << 20 and "gzip" in (self.headers.get("Accept-Encoding") or ""):
            data = gzip.compress(data, 1)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Vary", "Accept-Encoding")
        if code == 429:
            self.send_header("Retry-After", "1")
        if code == 201:
            self.send_header("Warning", '299 - "this server is made of paper"')
        self.send_header("Content-Length", str(len(data)))
        if code == 413:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(data)

    def cut(self):
        self.close_connection = True
        self.connection.close()

    def body(self):
        size = int(self.headers.get("Content-Length") or 0)
        if size > 3 << 20:
            raise Status(413, "Request entity too large: limit is 3145728")
        return self.rfile.read(size)

    def json_body(self):
        try:
            return json.loads(self.raw)
        except ValueError:
            raise Status(400, "the object provided is unrecognized (must be of type Secret): couldn't get "
                              "version/kind; json parse error: unexpected end of JSON input") from None

    def handle_any(self):
        state, url = self.state, urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        path = [urllib.parse.unquote(p) for p in url.path.strip("/").split("/")]
        name = path[5] if len(path) > 5 else ""
        verb = VERBS.get(self.command) or ("get" if name else "list")
        how = None
        try:
            self.raw = self.body()
            if state.requests is not None:
                state.requests.append((self.command, self.path, self.headers.get("Accept"), self.raw))
            secrets = path[:3] == ["api", "v1", "namespaces"] and path[4:5] == ["secrets"]
            if secrets:
                shown = name or (json.loads(self.raw or "{}").get("metadata", {}).get("name", "")
                                 if self.raw[:1] == b"{" else "")
                state.log.append((verb, shown))
                how = state.fault(verb, shown)
            if how == "before":
                return self.cut()
            if how == "hang":
                time.sleep(30)
                return self.cut()
            if how == "quota":
                raise Status(409, 'Operation cannot be fulfilled on resourcequotas "all": the object has been '
                                  'modified; please apply your changes to the latest version and try again',
                             details={"name": "all", "kind": "resourcequotas"})
            if isinstance(how, int):
                raise Status(how, {504: "Timeout: request did not complete within the allotted timeout",
                                   429: "Too many requests, please try again later."}.get(how, "made up"))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if token not in state.tokens:
                raise Status(401, "Unauthorized")
            if path[4:5] in (["pods"], ["services"]) and path[6:7] == ["proxy"]:
                return self.proxy(path, url)
            code, body = self.secrets(verb, path, name, query) if secrets else self.others(path)
        except Status as s:
            code, body = s.code, s.body
        if how == "after":
            return self.cut()
        if how == "lost":
            body = {"metadata": {}, "status": "Failure", "reason": "Timeout", "details": {}, "code": 504,
                    "message": "Timeout: request did not complete within the allotted timeout"}
            return self.answer(504, body, "text/plain")
        return self.answer(code, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

    def proxy(self, path, url):
        kind, name = path[4], path[5]
        if path[3] != self.state.namespace or kind + "/proxy" in self.state.denied:
            raise Status(403, f'{kind} "{name}" is forbidden: User "system:serviceaccount:store:app" cannot get '
                              f'resource "{kind}/proxy" in API group "" in the namespace "{path[3]}"')
        where = self.state.pods.get((kind, name))
        if not where:
            raise Status(404, f'{kind} "{name.split(":")[0]}" not found')
        target = where + "/" + "/".join(url.path.split("/")[8:]) + ("?" + url.query if url.query else "")
        try:
            with urllib.request.urlopen(target, timeout=60) as answer:
                code, kind, data = answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as e:
            code, kind, data = e.code, e.headers["Content-Type"], e.read()
        except OSError as e:
            raise Status(503, f"error trying to reach service: dial tcp: connect: {e}") from None
        self.send_response(code)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def others(self, path):
        if path == ["api"]:
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == ["apis"]:
            groups = [{"name": g, "versions": [version := {"groupVersion": f"{g}/{v}", "version": v}],
                       "preferredVersion": version} for g, v in (name.split("/") for name in KINDS if "/" in name)]
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        version = "/".join(path[1:])
        if path[:1] in (["api"], ["apis"]) and version in KINDS:
            verbs = ["create", "delete", "get", "list", "patch", "update"]
            return 200, {"kind": "APIResourceList", "groupVersion": version, "resources": [
                {"name": kind.lower() + "s", "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs}
                for kind in KINDS[version]]}
        if path[-1:] == ["selfsubjectaccessreviews"]:
            review = self.json_body()
            verb = review["spec"]["resourceAttributes"]["verb"]
            review["status"] = {"allowed": verb not in self.state.denied}
            return 201, review
        raise Status(404, "the server could not find the requested resource")

    def secrets(self, verb, path, name, query):
        state = self.state
        who = 'User "system:serviceaccount:store:app"'
        if path[3] != state.namespace or verb in state.denied:
            what = f'secrets "{name}" is' if name else "secrets is"
            raise Status(403, f'{what} forbidden: {who} cannot {verb} resource "secrets" in API group "" in '
                              f'the namespace "{path[3]}"', details={"name": name, "kind": "secrets"})
        with state.lock:
            return getattr(self, "secret_" + verb)(state, name, query)

    @staticmethod
    def found(state, name):
        if name not in state.secrets:
            raise Status(404, f'secrets "{name}" not found', details={"name": name, "kind": "secrets"})
        return state.secrets[name]

    def secret_list(self, state, _, query):
        names = sorted(n for n, s in state.secrets.items()
                       if selects(query.get("labelSelector"), s["metadata"].get("labels", {})))
        start = base64.urlsafe_b64decode(query.get("continue", "") + "==").decode()
        if start and state.expired:
            state.expired -= 1
            raise Status(410, "The provided continue parameter is too old to display a consistent list result.")
        names = [n for n in names if n > start] if start else names
        limit = int(query.get("limit") or 0)
        meta = {"resourceVersion": str(state.version)}
        if limit and len(names) > limit:
            names = names[:limit]
            meta["continue"] = base64.urlsafe_b64encode(names[-1].encode()).decode().rstrip("=")
        items = [{k: v for k, v in state.secrets[n].items() if k not in ("kind", "apiVersion")} for n in names]
        return 200, {"kind": "SecretList", "apiVersion": "v1", "metadata": meta, "items": items}

    def secret_get(self, state, name, _):
        return 200, self.found(state, name)

    def secret_create(self, state, _, __):
        secret = self.json_body()
        check_secret(secret, state.namespace)
        name = secret["metadata"]["name"]
        if name in state.secrets:
            raise Status(409, f'secrets "{name}" already exists', "AlreadyExists",
                         {"name": name, "kind": "secrets"})
        secret["metadata"].update(namespace=state.namespace, uid=str(uuid.uuid4()), managedFields=[
            {"manager": "sonde", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1":
             {"f:data": {".": {}}}}])
        return 201, state.stored(secret)

    def secret_update(self, state, name, _):
        secret = self.json_body()
        check_secret(secret, state.namespace)
        if secret["metadata"]["name"] != name:
            raise Status(400, "the name of the object does not match the name on the URL")
        old = self.found(state, name)
        version = secret["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise Status(409, f'Operation cannot be fulfilled on secrets "{name}": the object has been modified; '
                              'please apply your changes to the latest version and try again', "Conflict",
                         {"name": name, "kind": "secrets"})
        if old.get("immutable") and secret.get("data") != old.get("data"):
            raise Status(422, f'Secret "{name}" is invalid: data: Forbidden: field is immutable when `immutable` is set',
                         details={"name": name, "kind": "Secret"})
        if secret.get("type", "Opaque") != old.get("type", "Opaque"):
            raise Status(422, f'Secret "{name}" is invalid: type: Invalid value: "{secret.get("type")}": field is immutable',
                         details={"name": name, "kind": "Secret"})
        secret["metadata"].update(namespace=state.namespace, uid=old["metadata"]["uid"],
                                  managedFields=old["metadata"].get("managedFields", []))
        if all(secret.get(k) == old.get(k) for k in ("data", "type")) and \
                secret["metadata"].get("labels") == old["metadata"].get("labels"):
            return 200, old  # nothing changes, its version neither
        return 200, state.stored(secret)

    def secret_delete(self, state, name, _):
        old = self.found(state, name)
        if self.raw[:1] == b"{":
            wants = self.json_body().get("preconditions", {}).get("resourceVersion")
            is_now = old["metadata"]["resourceVersion"]
            if wants and wants != is_now:
                raise Status(409, f'Operation cannot be fulfilled on Secret "{name}": the ResourceVersion in the '
                                  f'precondition ({wants}) does not match the ResourceVersion in record ({is_now}).',
                             "Conflict", {"name": name, "kind": "Secret"})
        del state.secrets[name]
        return 200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                     "details": {"name": name, "kind": "secrets", "uid": old["metadata"]["uid"]}}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *args):
        pass


def certificates(folder):
    """An authority, and a server's certificate for 127.0.0.1 signed by it."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=test-ca")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "server.key",
            "-out", "server.csr", "-subj", "/CN=kubernetes")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "server.crt", "-days", "2", "-extfile", "san")


class Cluster:
    """A server to talk to: ours, or the real one the environment names."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde-kube."))
        host = os.environ.get("SONDE_TEST_KUBE_HOST")
        self.real = bool(host)
        if self.real:
            self.account = pathlib.Path(os.environ["SONDE_TEST_KUBE_SA"])
            self.host, self.port = host, int(os.environ["SONDE_TEST_KUBE_PORT"])
            self.namespace = (self.account / "namespace").read_text().strip()
            return
        self.account, self.host, self.namespace = self.folder, "127.0.0.1", "store"
        certificates(self.folder)
        (self.folder / "token").write_text("token-1")
        (self.folder / "namespace").write_text(self.namespace)
        self.state = State(self.namespace, "token-1")
        handler = type("Bound", (Handler,), {"state": self.state})
        self.server = Server(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SONDE_", "KUBE", "MY_POD")) and not k.lower().endswith("_proxy")}
        return env | {"KUBERNETES_SERVICE_HOST": self.host, "KUBERNETES_SERVICE_PORT": str(self.port),
                      "SONDE_SERVICE_ACCOUNT": str(self.account)}

    def kubeconfig(self, inline=False):
        path = self.folder / "kubeconfig"
        ca = self.account / "ca.crt"
        authority = f"certificate-authority-data: {base64.b64encode(ca.read_bytes()).decode()}" if inline \
            else f"certificate-authority: {ca}"
        path.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: here
  cluster:
    server: https://{self.host}:{self.port}
    {authority}
users:
- name: me
  user:
    token: {(self.account / "token").read_text().strip()}
contexts:
- name: only
  context: {{cluster: here, user: me, namespace: {self.namespace}}}
current-context: only
""")
        return path

    def close(self):
        if not self.real:
            self.server.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)
