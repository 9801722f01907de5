#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""schema.py SCHEMA FILE [--lines]: does the JSON in FILE (-: stdin) keep to SCHEMA, of build/pages/schemas?

--lines: FILE holds one object a line. Exit status 0: it does, 1: each error as a line."""
import json
import pathlib
import sys

import jsonschema


def main():
    arguments = [a for a in sys.argv[1:] if a != "--lines"]
    if len(arguments) != 2:
        sys.exit("usage: schema.py SCHEMA FILE [--lines]")
    path = pathlib.Path(arguments[0]).resolve()
    schema = json.loads(path.read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)
    text = sys.stdin.read() if arguments[1] == "-" else pathlib.Path(arguments[1]).read_text()
    objects = text.splitlines() if "--lines" in sys.argv else [text]
    if not objects:
        sys.exit("schema.py: there is no JSON at all")
    wrong = 0
    for number, one in enumerate(objects, 1):
        for error in validator.iter_errors(json.loads(one)):
            where = "/".join(str(step) for step in error.absolute_path)
            print(f"{path.name}: object {number}, at /{where}: {error.message[:300]}", file=sys.stderr)
            wrong += 1
    sys.exit(1 if wrong else 0)


main()
