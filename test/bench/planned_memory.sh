#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory planned for a GPU next to PyTorch's: it runs where PyTorch is new enough, and says so where it is not.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
"$train" --version | grep -q '^backends:.*cuda' || skip "dlx was built without CUDA"
memory() {
	"$python" "$DLX_SOURCE/test/bench/planned_memory" --tiny "$@"
}
expect 2 memory --networks nonsense
says err 'no size for a GPU: nonsense'
if ! "$python" -c 'import torch.distributed._tools.mem_tracker' 2>/dev/null; then
	expect 77 memory --networks demo
	says err 'this needs PyTorch 2.5 or newer'
	pass
fi
expect 0 memory --networks demo,tiramisu --json memory.json
says out 'geometric mean'
"$python" - <<'END' || fail "memory.json is not as expected"
import json

rows = json.load(open("memory.json"))
assert [r["network"] for r in rows] == ["demo", "tiramisu"]
assert all(r["dlx"] > 0 and r["pytorch"] > 0 and abs(r["ratio"] * r["pytorch"] / r["dlx"] - 1) < 1e-9 for r in rows)
END
pass
