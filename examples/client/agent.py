#!/usr/bin/env python3
"""A client of `halo serve` in one file, without dependencies.

    agent.py submit RESPONSE.json     submit, wait, print what became of each component
    agent.py watch                    print decisions as they come (needs the operator role)

HALO_URL names the runtime (http://127.0.0.1:8700), HALO_TOKEN the bearer token, where one is needed.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("HALO_URL", "http://127.0.0.1:8700")
TOKEN = os.environ.get("HALO_TOKEN")


def call(method, path, body=None, headers=None, timeout=70):
    """One request. A problem ends the program with its code and detail."""
    headers = dict(headers or {})
    if TOKEN:
        headers["Authorization"] = f"Bearer {TOKEN}"
    if body is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(URL + path, data=body, headers=headers, method=method)
    try:
        return urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        problem = json.loads(error.read() or b"{}")
        sys.exit(f"{error.code} {problem.get('code')}: {problem.get('detail')}")
    except urllib.error.URLError as error:
        sys.exit(f"{URL}: {error.reason}")


def submit(file):
    with open(file, "rb") as handle:
        text = handle.read()
    # The same text is the same submission, however often it is sent: a retry after a lost answer creates nothing.
    key = "sub-" + hashlib.sha256(text).hexdigest()[:32]
    with call("POST", "/v1/responses?wait=10s", text, {"Idempotency-Key": key}) as answer:
        record = json.load(answer)
    for component in record["components"]:
        reasons = ", ".join(
            " ".join(filter(None, (reason["code"], reason.get("subject")))) for reason in component["reasons"]
        )
        print(f"{component['id']:12} {component['phase']:11} {reasons}")
    for obligation in record["obligations"]:
        refresh = ", ".join(obligation["refresh"]) or "a report of support"
        print(
            f"obligation {obligation['obligation']}: {obligation['component']} may come back through "
            f"{obligation['route']} after {refresh}"
        )


def watch():
    with call("GET", "/v1/events", headers={"Accept": "text/event-stream"}, timeout=None) as stream:
        for line in stream:
            if line.startswith(b"data:"):
                print(line[5:].strip().decode(), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["submit", file]:
            submit(file)
        case ["watch"]:
            watch()
        case _:
            sys.exit(__doc__)
