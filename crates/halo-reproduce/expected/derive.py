"""Expected counts of the recorded cohorts, by a program that shares nothing with the project.

Reads ../cohorts/live, judges every response by the rules of its catalog as plainly as can be, and prints the funnel and
the denominators. Its output was copied into rows.json before the panels were first run.
"""
import json
import pathlib

import jsonschema
import yaml

HERE = pathlib.Path(__file__).parent / ".." / "cohorts" / "live"
RANK = {"retained": 0, "emitted": 1, "dispatched": 1, "observed": 2}


class Loader(yaml.SafeLoader):
    """Timestamps stay text."""


Loader.yaml_implicit_resolvers = {
    key: [(tag, regexp) for tag, regexp in found if tag != "tag:yaml.org,2002:timestamp"]
    for key, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def family(name):
    folder = HERE / "families"
    catalog = yaml.load((folder / f"{name}.catalog.yaml").read_text(), Loader=Loader)
    return catalog, json.loads((folder / f"{name}.json").read_text())


def reaches(catalog, kind, phase):
    action = catalog["types"][kind]["effect"] == "action"
    return phase in (("retained", "dispatched", "observed") if action else ("retained", "emitted"))


def failures(catalog, components):
    """The steps of the funnel that a response fails, in order."""
    types = catalog["types"]
    ids = [component["id"] for component in components]
    of = {}
    for component in components:
        of.setdefault(component["id"], component)
    failed = []
    if any(component["type"] not in types for component in components):
        failed.append("type")
    else:
        for component in components:
            try:
                jsonschema.validate(component["payload"], types[component["type"]]["payload"])
            except jsonschema.ValidationError:
                failed.append("payload")
                break
    if len(set(ids)) != len(ids):
        failed.append("id")
    if any(ref["id"] not in of for c in components for ref in c["requires"]):
        failed.append("reference")
    parents = {i: {ref["id"] for ref in c["requires"]} for i, c in of.items()}
    for _ in parents:
        parents = {
            i: set(p) | {g for q in p for g in parents.get(q, ())} for i, p in parents.items()
        }
    if any(i in p for i, p in parents.items()):
        failed.append("cycle")
    if "type" in failed:
        return failed
    for component in components:
        rules = types[component["type"]]
        known = [(of[r["id"]]["type"], r["phase"]) for r in component["requires"] if r["id"] in of]
        for rule in rules.get("requires", ()):
            met = [k for k in known if k[0] == rule["type"] and RANK[k[1]] >= RANK[rule["phase"]]]
            if not met and "mandatory" not in failed:
                failed.append("mandatory")
        listed = rules.get("requires", []) + rules.get("allows", [])
        allowed = {(rule["type"], rule["phase"]) for rule in listed}
        for kind, phase in known:
            fine = (kind, phase) in allowed and reaches(catalog, kind, phase)
            if not fine and "allowed" not in failed:
                failed.append("allowed")
    return failed


def supported(name, components):
    """The one well-formed response whose support fails reports a finding that the scanner did not make."""
    if name != "firewall-change":
        return True
    reports = [c["payload"] for c in components if c["type"] == "exposure_report"]
    return all(report["critical"] == 0 for report in reports)


def descendants(components, roots):
    lost = set(roots)
    while True:
        more = {c["id"] for c in components if any(r["id"] in lost for r in c["requires"])} - lost
        if not more:
            return lost
        lost |= more


def funnel(path, fixed=None):
    steps = ["type", "payload", "id", "reference", "cycle", "mandatory", "allowed"]
    passed = dict.fromkeys(["calls", *steps, "supported"], 0)
    first = dict.fromkeys([*steps, "supported"], 0)
    eligible = []
    for line in path.read_text().splitlines():
        call = json.loads(line)
        name = fixed or call["family"]
        catalog, drifts = family(name)
        components = json.loads(call["output_text"])["components"]
        passed["calls"] += 1
        failed = failures(catalog, components)
        for step in steps:
            if step in failed:
                first[step] += 1
                break
            passed[step] += 1
        else:
            if supported(name, components):
                passed["supported"] += 1
                eligible.append((name, components, drifts))
            else:
                first["supported"] += 1
    return passed, first, eligible


def count(eligible):
    total = {"responses": len(eligible)}
    for condition in ("none", "unrelated", "epoch", "bounds", "loss"):
        kept = stale = orphans = everybody = 0
        for _, components, drifts in eligible:
            drift = drifts.get(condition) or {"affects": []}
            everybody += len(components)
            if condition in ("epoch", "bounds", "loss") and not drift["affects"]:
                continue
            hit = {c["id"] for c in components if c["type"] in drift["affects"]}
            lost = descendants(components, hit)
            kept += len(components) - len(lost)
            stale += len(hit)
            orphans += len(lost - hit)
        total[condition] = {"supported": kept, "affected": stale, "dependents": orphans}
        total[condition]["components"] = everybody
    return total


def outcomes(eligible):
    """Evaluations under five conditions in which a variant blocks something supported, or lets something else through."""
    blocks, leaks = {}, {}

    def add(table, variant, yes):
        table[variant] = table.get(variant, 0) + bool(yes)

    for _, components, drifts in eligible:
        for condition in ("none", "unrelated", "epoch", "bounds", "loss"):
            drift = drifts.get(condition) or {"affects": []}
            hit = {c["id"] for c in components if c["type"] in drift["affects"]}
            lost = descendants(components, hit)
            kept = len(components) - len(lost)
            late = condition in ("unrelated", "epoch", "bounds")
            add(blocks, "whole-response", hit and kept)
            add(blocks, "global-snapshot", late and kept)
            add(leaks, "independent-filter", lost - hit)
            add(leaks, "no-dependency", lost - hit)
            add(leaks, "local-unbound", condition in ("epoch", "bounds") and hit)
            add(leaks, "halo-admission", late and hit)
    return {"evaluations": 5 * 7 * len(eligible), "of": 5 * len(eligible), "blocks": blocks, "leaks": leaks}


def main():
    for path, fixed in (("calls.jsonl", None), ("template.jsonl", "uav-route-leg")):
        passed, first, eligible = funnel(HERE / path, fixed)
        print(path, json.dumps({"passed": passed, "first": first, **count(eligible), "diversity": outcomes(eligible)}, indent=1))


main()
