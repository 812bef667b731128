# SPDX-License-Identifier: BSD-3-Clause
#
# json_keys.py FILE...: each is one JSON text, or one on each line, in which no object has a key twice and no number is NaN or infinite.
import json
import sys


def unique(pairs):
    keys = [k for k, _ in pairs]
    twice = sorted({k for k in keys if keys.count(k) > 1})
    if twice:
        raise ValueError(f"an object has twice: {', '.join(twice)}")
    return dict(pairs)


def refuse(number):
    raise ValueError(f"{number} is not JSON")


def parse(text):
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        if path.endswith(".jsonl"):
            assert [parse(line) for line in text.splitlines()], "nothing"
        else:
            parse(text)
    except (ValueError, AssertionError) as e:
        sys.exit(f"{path}: {e}")
