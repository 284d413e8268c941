"""Writes ../cases/admission.json: 96 admission cases, each with what must come of it.

Expectations of the first two groups are by hand. Those of the other two come from `closure` below, which shares nothing
with the project.
"""
import json
import pathlib
import random

CASES = []
STATE = {
    "flag": {"epoch": 1, "value": {"on": True}},
    "gauge": {"epoch": 1, "value": 7},
    "map": {"epoch": 3, "provenance": "survey", "value": {"area": "a1", "valid_until": "2026-01-01T01:00:00Z"}},
    "zones/z1": {"epoch": 1, "value": {"open": True}},
    "zones/z2": {"epoch": 1, "value": {"open": False}},
}


def case(group, name, components, expect, state=None, advance_ms=0, raw=None, refused=None, **envelope):
    CASES.append({
        "group": group, "name": name, "state": {k: v for k, v in {**STATE, **(state or {})}.items() if v is not None},
        "advance_ms": advance_ms, "text": raw or json.dumps({"response": "r", **envelope, "components": components}),
        "expect": expect, "refused": refused,
    })


def one(kind, payload=None, **more):
    return [{"id": "a", "type": kind, "payload": {} if payload is None else payload, **more}]


def local():
    g = "local support"
    case(g, "a true predicate", one("flagged"), {"a": "retained"})
    case(g, "a false predicate", one("flagged"), {"a": "withheld predicate:flag"}, {"flag": {"value": {"on": False}}})
    case(g, "a predicate without its field", one("flagged"), {"a": "withheld predicate_error:flag"}, {"flag": {"value": {}}})
    case(g, "a predicate without its record", one("flagged"), {"a": "withheld predicate_error:flag"}, {"flag": None})
    case(g, "a predicate that is no boolean", one("flagged"), {"a": "withheld predicate_error:flag"}, {"flag": {"value": {"on": 1}}})
    case(g, "both predicates hold", one("several", {"a": 2, "b": 2}), {"a": "retained"})
    case(g, "all failures are reported", one("several", {"a": 1, "b": 0}), {"a": "withheld predicate:first predicate:second"})
    case(g, "an error and a failure", one("several", {"b": 0}), {"a": "withheld predicate_error:first predicate:second"})
    case(g, "integers and doubles are one", one("several", {"a": 1.5, "b": 2.0}), {"a": "retained"})
    case(g, "fresh at the limit", one("fresh"), {"a": "retained"}, advance_ms=500)
    case(g, "stale past the limit", one("fresh"), {"a": "withheld stale:gauge"}, advance_ms=501)
    case(g, "no record to be fresh", one("fresh"), {"a": "withheld state_missing:gauge"}, {"gauge": None})
    case(g, "a bound epoch", one("epoch"), {"a": "retained"})
    case(g, "a bound epoch of no record", one("epoch"), {"a": "withheld state_missing:map.epoch"}, {"map": None})
    case(g, "a bound value", one("bound"), {"a": "retained"})
    case(g, "a bound value that is absent", one("bound"), {"a": "withheld state_missing:map.value.area"}, {"map": {"value": {}}})
    case(g, "an absence that is allowed", one("lenient"), {"a": "retained"})
    case(g, "a bound provenance", one("source"), {"a": "retained"})
    case(g, "its own key", one("zoned", {"zone": "z1"}), {"a": "retained"})
    case(g, "its own key is closed, another is open", one("zoned", {"zone": "z2"}), {"a": "withheld predicate:open"})
    case(g, "a key without a record", one("zoned", {"zone": "z9"}), {"a": "withheld predicate_error:open"})
    case(g, "an interval inside", one("interval", {"until": "2026-01-01T00:30:00Z"}), {"a": "retained"})
    case(g, "an interval that ends with its guard", one("interval", {"until": "2026-01-01T00:59:59.800Z"}), {"a": "withheld horizon"})
    case(g, "a written path without index, a key that is no text, and a wait for approval",
         [{"id": "a", "type": "writer", "payload": {}}, {"id": "b", "type": "once", "payload": {"key": 1}}, {"id": "c", "type": "asks", "payload": {}}],
         {"a": "withheld predicate_error:writes", "b": "withheld predicate_error:once", "c": "pending"})


def malformed():
    g = "malformed"
    note = {"id": "n", "type": "note", "payload": {"text": "x"}}
    act = {"id": "a", "type": "flagged", "payload": {}}

    def beside(name, components, expect, **more):
        case(g, name, [note, *components], {"n": "retained", **expect}, **more)

    def done(requires, **more):
        return {"id": "d", "type": "done", "payload": {}, "requires": requires, **more}

    beside("two bearers of one id", [act, {**act, "payload": {"x": 1}}], {"a": "withheld duplicate_id"})
    beside("an unknown field", [{**act, "junk": 1}], {"a": "withheld bad_component"})
    beside("no payload", [{"id": "a", "type": "flagged"}], {"a": "withheld bad_component"})
    beside("references that are no list", [{**act, "requires": {}}], {"a": "withheld bad_component"})
    beside("an unknown phase", [act, done([{"id": "a", "phase": "soon"}])], {"a": "retained", "d": "withheld bad_component"})
    beside("a sequence on a notice", [{"id": "m", "type": "note", "payload": {"text": "y"}, "sequence": 1}], {"m": "withheld bad_component"})
    beside("an unknown type", [{"id": "a", "type": "fly", "payload": {}}], {"a": "withheld unknown_type"})
    beside("a payload that breaks its schema", [{"id": "m", "type": "note", "payload": {}}], {"m": "withheld payload_schema"})
    beside("a reference to nobody", [act, done([{"id": "a", "phase": "dispatched"}, {"id": "x", "phase": "emitted"}])], {"a": "retained", "d": "withheld missing_reference"})
    beside("a reference to itself", [{"id": "x", "type": "node", "payload": {"ok": True}, "requires": [{"id": "x", "phase": "retained"}]}], {"x": "withheld cycle"})
    beside("a cycle of two", nodes({"x": ["y"], "y": ["x"]}), {"x": "withheld cycle", "y": "withheld cycle"})
    beside("downstream of a cycle", nodes({"x": ["y"], "y": ["x"], "z": ["y"]}),
           {"x": "withheld cycle", "y": "withheld cycle", "z": "withheld prerequisite_excluded:y"})
    beside("upstream of a cycle", nodes({"w": [], "x": ["y", "w"], "y": ["x"]}), {"w": "retained", "x": "withheld cycle", "y": "withheld cycle"})
    beside("a type that is not allowed", [act, {"id": "m", "type": "note", "payload": {"text": "y"}, "requires": [{"id": "a", "phase": "dispatched"}]}],
           {"a": "retained", "m": "withheld prerequisite_not_allowed"})
    beside("a phase that is not allowed", [act, done([{"id": "a", "phase": "dispatched"}, {"id": "n", "phase": "retained"}])],
           {"a": "retained", "d": "withheld prerequisite_not_allowed"})
    beside("a phase that the type never reaches", [act, done([{"id": "a", "phase": "dispatched"}, {"id": "n", "phase": "dispatched"}])],
           {"a": "retained", "d": "withheld prerequisite_not_allowed"})
    beside("no mandatory prerequisite", [act, done([])], {"a": "retained", "d": "withheld mandatory_prerequisite_missing"})
    beside("a later phase of the mandatory one", [act, done([{"id": "a", "phase": "observed"}])], {"a": "retained", "d": "pending"})
    beside("a sequence where none are taken", [{**act, "sequence": 4}], {"a": "withheld sequence_invalid"})
    beside("one sequence twice", [{"id": "a", "type": "given", "payload": {}, "sequence": 4}, {"id": "b", "type": "given", "payload": {}, "sequence": 4}],
           {"a": "retained", "b": "withheld sequence_invalid"})
    beside("a sequence too far", [{"id": "a", "type": "given", "payload": {}, "sequence": 1025}], {"a": "withheld sequence_invalid"})
    beside("a stream that was cut off", [act], {"a": "withheld truncated"}, truncated=True)
    case(g, "a repeated key", None, {}, raw='{"response":"r","components":[],"components":[]}', refused="bad_json")
    case(g, "another catalog's version", [note], {}, refused="catalog_mismatch", catalog_version="2")


def nodes(parents, bad=()):
    return [{"id": i, "type": "node", "payload": {"ok": i not in bad}, "requires": [{"id": p, "phase": "retained"} for p in ps]} for i, ps in parents.items()]


def closure(parents, bad):
    """Who stays: drop whoever is bad or lost a parent, until nobody goes."""
    kept = set(parents) - set(bad)
    while True:
        go = {i for i in kept if any(p not in kept for p in parents[i])}
        if not go:
            return kept
        kept -= go


def graph(group, name, parents, bad):
    kept = closure(parents, bad)
    expect = {}
    for i, ps in parents.items():
        lost = sorted(p for p in set(ps) if p not in kept)
        why = (["predicate:ok"] if i in bad else []) + [f"prerequisite_excluded:{p}" for p in lost]
        expect[i] = "retained" if i in kept else "withheld " + " ".join(why)
    case(group, name, nodes(parents, bad), expect)


def removal():
    g = "dependency removal"
    chain = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}
    diamond = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    fan = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["a"]}
    join = {"a": [], "b": [], "c": [], "d": ["a", "b", "c"], "e": ["d"]}
    two = {"a": [], "b": ["a"], "x": [], "y": ["x"]}
    for title, parents in (("chain", chain), ("diamond", diamond), ("fan", fan), ("join", join), ("two pairs", two)):
        for bad in list(parents)[:4]:
            graph(g, f"{title} without {bad}", parents, {bad})
    graph(g, "join without two roots", join, {"a", "c"})
    graph(g, "diamond without both sides", diamond, {"b", "c"})
    graph(g, "chain without its ends", chain, {"a", "d"})
    graph(g, "order in the response does not matter", {"d": ["c"], "c": ["b"], "b": ["a"], "a": []}, {"b"})


def maximal():
    g = "maximal retention"
    for seed in range(24):
        rng = random.Random(1000 + seed)
        count = 5 + seed % 6
        names = [f"n{i}" for i in range(count)]
        order = names[:]
        rng.shuffle(order)
        parents = {n: [] for n in names}
        for i, child in enumerate(order):
            parents[child] = [p for p in order[:i] if rng.random() < 0.3]
        bad = {n for n in names if rng.random() < 0.2}
        graph(g, f"{count} components, seed {1000 + seed}", parents, bad)


local()
malformed()
removal()
maximal()
assert len(CASES) == 96, len(CASES)
PATH = pathlib.Path(__file__).parent / ".." / "cases" / "admission.json"
PATH.write_text("[\n" + ",\n".join(json.dumps(case) for case in CASES) + "\n]\n")
