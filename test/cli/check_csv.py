# SPDX-License-Identifier: BSD-3-Clause
"""Tables as text: check_csv.py DLX-CONVERT DIR."""
import os
import subprocess
import sys

import numpy as np

import dlxrecord

program, folder = sys.argv[1:]
os.chdir(folder)


def run(status, *args):
    p = subprocess.run([program, *args, "-o", "csv.dlx"], capture_output=True, text=True)
    if p.returncode != status:
        sys.exit(f"{args}: status {p.returncode} instead of {status}\n{p.stdout}{p.stderr}")
    return p.stderr


def write(name, text):
    with open(name, "w", newline="", encoding="utf-8") as f:
        f.write(text)


want = np.array([[1, -2.5], [3e2, 0.25], [np.nan, 7]], "f4")
rows = ["1", "-2.5", "0"], ["3e2", " .25", "1"], ["", "7", "2"]
for between in ",;\t":
    for end in "\n", "\r\n":
        for quote in "", '"':
            lines = [[quote + x + quote for x in line] for line in (["width", "height, m" if quote else "height", "kind"], *rows)]
            write("t.csv", "\ufeff" + end.join(between.join(line) for line in lines) + end + end)
            name = "t.csv:width"
            run(0, "-i", "t.csv:width", "-i", "t.csv:height" if not quote else "t.csv:kind", "-t", "t.csv:kind", "--labels", "--fill", "nan")
            d, x, y = dlxrecord.read("csv.dlx")
            second = want[:, 1] if not quote else np.arange(3)
            assert x.shape == (3, 2) and np.array_equal(x, np.stack([want[:, 0], second], 1), equal_nan=True), x
            assert d["target"]["dtype"] == "u8" and y.ravel().tolist() == [0, 1, 2], (d, y)
os.rename("t.csv", "t.table")
run(0, "-f", "csv", "-i", "t.table:width", "--fill", "nan")
for text, says in (("a,b\n1,2\n3\n", "line 3: 1 field in place of 2"), ("a,b\n1,x\n", "line 2, column 2 ('b'): 'x' is no number"),
                   ("1,2\n3,4\n", "the first line of a table has the names"), ("a,b\n", "has names, but no line of numbers"),
                   ("a,a\n1,2\n", "column 2 ('a'): 'a' is the name of an earlier column"), ('a,b\n1,"2\n', "a quote that does not end"),
                   ("a,b\n1,2,3\n", "line 2: 3 fields in place of 2"), ("a;b\n1;2,5\n", "'2,5' is no number")):
    write("bad.csv", text)
    got = run(65, "-i", "bad.csv:" + ("a" if "a,a" in text else "b" if "b" in text else "1"))
    assert says in got, (text, got)
write("t.csv", "a,b\n1,2\n")
assert "has 2 variables" in run(64, "-i", "t.csv") and "did you mean 'b'" in run(66, "-i", "t.csv:B")
