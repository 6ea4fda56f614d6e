# SPDX-License-Identifier: Apache-2.0
"""json_schema.py SUMMARY SCHEMA.md: whether the document describes every field of a summary with its type, and the
summary has every field that is described. Lists may be empty; --full requires an element in each."""
import json
import re
import sys

COUNT = {"name": "string", "text": "string", "count": "integer"}
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list}
ROW = re.compile(r"^\| `([a-z0-9_.\[\]]+)` \| ([a-z ]+?) \|", re.M)


def is_of(value, kind):
    """Whether a value has a type, as written in the document."""
    kind, _, null = kind.partition(" or ")
    if value is None:
        return null == "null"
    outer, _, items = kind.partition(" of ")
    if type(value) is not TYPES[outer]:
        return False
    if items == "counts":
        return all(x.keys() == COUNT.keys() and all(is_of(x[key], COUNT[key]) for key in COUNT) for x in value)
    return not items or all(is_of(x, items.removesuffix("s")) for x in value)


def object_problems(where, fields, described):
    """The errors of one object, whose fields are described as name: type."""
    yield from (f"{where}{name} is not described" for name in fields.keys() - described.keys())
    yield from (f"{where}{name} is described, but missing" for name in described.keys() - fields.keys())
    yield from (f"{where}{name} is {fields[name]!r}, not {described[name]}" for name in fields.keys() & described.keys()
                if not is_of(fields[name], described[name]))


def problems(summary, document, is_full=False):
    rows = ROW.findall(document)
    if len(rows) != len(dict(rows)):
        yield "a field is described twice"
    described = {name: kind for name, kind in rows if "[]" not in name}
    yield from object_problems("", summary, described)
    for name in (n for n, kind in described.items() if kind == "array"):
        items = {field.split("[].")[1]: kind for field, kind in rows if field.startswith(f"{name}[].")}
        items = items or elements_of_twin(name, rows)
        if not items:
            yield f"the elements of {name} are not described"
        if is_full and not summary.get(name):
            yield f"{name} has no element"
        for item in summary.get(name, []):
            yield from object_problems(f"{name}[].", item, items)


def elements_of_twin(name, rows):
    """functions_by_total has the elements of functions."""
    twin = name.removesuffix("_by_total")
    return {field.split("[].")[1]: kind for field, kind in rows if twin != name and field.startswith(f"{twin}[].")}


if __name__ == "__main__":
    with open(sys.argv[-2]) as s, open(sys.argv[-1]) as d:
        found = list(problems(json.load(s), d.read(), "--full" in sys.argv))
    print("\n".join(found), file=sys.stderr)
    sys.exit(bool(found))
