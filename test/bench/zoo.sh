#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of the zoo with PyTorch runs and prints its lines, and the networks that it compares are the same ones. No
# time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
zoo() {
	"$python" "$DLX_SOURCE/test/bench/zoo" --tiny --threads 1 "$@"
}
# With the real PyTorch one small network here, all kinds, types and layouts in the big form.
checked=demo timed=demo types=float32 modes=channels-last count=1
if big; then
	checked=demo,tiramisu,fc-densenet103,cosmoflow-mlperf,cosmoflow-lbann,unet3d
	timed=demo,cosmoflow-mlperf types=float32,bf16 modes=channels-last,contiguous count=2
fi
expect 0 zoo --check --networks $checked
says out '303152 parameters'
if big; then says out '7801315 parameters'; fi

expect 0 zoo --networks $timed --types $types --modes $modes --repetitions 1 --seconds 0 --json zoo.json
says out "geometric mean of $count, float32"
if big; then grep -q '^demo  *bf16' out || fail "nothing about bf16"; fi
TIMED=$timed "$python" - <<'END' || fail "zoo.json is not as expected"
import json
import os

result = json.load(open("zoo.json"))
rows = [r for r in result["rows"] if r["type"] == "float32"]
assert [r["network"] for r in rows] == os.environ["TIMED"].split(",")
for r in rows:
    assert r["samples_ratio"] > 0 and r["memory_ratio"] > 0 and r["first_ratio"] > 0
    assert len(r["dlx_runs"]) == len(r["peer_runs"]) == 1 and r["layout"] in ("channels-last", "contiguous")
END
# What dlx alone reaches of the ceilings, by op; on a GPU that is emulated, too.
expect 0 zoo --roofline --networks demo --json roofline.json
says out 'of the matrix peak'
says out 'conv_grad_weight ('
if [ -x "$DLX_BUILD/test/gpu/train_emulated" ]; then
	mkdir emulated && cp "$DLX_BUILD/test/gpu/train_emulated" emulated/dlx-train
	expect 0 zoo --device cuda --roofline --networks demo --batch 1 --build emulated
	says out "the host's part"
fi
# Against PyTorch as on a GPU, with stand-ins for it and for dlx-train: what is asked for, memory, what takes too long to compile, and
# the means over what several calls measured.
printf '#!/bin/sh\ncase $1 in *zoo_worker.py) set -- "%s" "$@" ;; esac\nexec "%s" "$@"\n' "$DLX_SOURCE/test/bench/fake_gpu.py" \
	"$python" >fake
mkdir fakes
# dlx is run for its steps alone, and with the engines that are known.
cat >fakes/dlx-train <<END
#!/bin/sh
echo "\$*" >>"$PWD/fake-runs"
case "\$*" in
*--bench*--wisdom*engines.wisdom* | *--wisdom*engines.wisdom*--bench*)
	echo '{"samples_per_second": 1e6, "step_median": 1e-6, "first_step": 2, "parameters": 303152, "peak_memory": 7,' \\
		'"device_memory": 1000000, "device_used": 20000000}' ;;
*) exit 3 ;;
esac
END
chmod 755 fake fakes/dlx-train
gpu() {
	DLX_PYTHON=$python "$DLX_SOURCE/test/bench/gpu" -o numbers -n demo "$@" --tiny --threads 1 --seconds 0 --repetitions 1 \
		--python "$PWD/fake" --build fakes --batch 1
}
expect 0 gpu -w batch
says out '== demo-batch-both'
[ "$(wc -l <fake-runs)" = 1 ] || fail "dlx runs more than once: $(cat fake-runs)"
grep -q 'eager (channels-last) .*  *1  *2  *0.50 .*whole GPU 20 40' out || fail "no memory of the fake GPU"
# Calls that take turns: nothing is timed while another has the lock, and what is in use on the whole GPU says nothing then.
(flock 9 && touch taken && sleep 3 && touch released) 9>turns &
until [ -e taken ]; do sleep 0.1; done
expect 0 gpu -w one-sample --turns turns --limit 200
[ -e released ] || fail "no turn was waited for"
grep -q ' s  demo: PyTorch eager ends$' turns || fail "no word on turns: $(cat turns)"
grep -q 'eager (channels-last)' out || fail "no steps of the fake GPU"
grep -q 'whole GPU' out && fail "a GPU that others are on is told of"
# A worker that is late where it is to choose kernels by time, and has its answer at once otherwise.
cat >fake <<'END'
#!/bin/sh
case $2 in
*'"about"'*) echo '{"version": "2.0", "compiles": true, "cuda": true}' ;;
*'"mode": "max-autotune"'*'"turns": "/'*) kill -ALRM $$ ;;
*'"mode": "max-autotune"'*) exec sleep 1000 ;;
*) echo '{"kind": "compiled", "samples_per_second": 1, "peak_memory": 2000000, "device_used": 40000000, "reserved": 3000000, "loss": 1,' \
	'"steps": 3, "parameters": 303152, "first": 3}' ;;
esac
END
expect 0 gpu -w one-sample -m compiled --limit 10
says out 'with max-autotune not done in 10 s'
says out 'compiled (no autotune)'
rm numbers/demo-one-sample-compiled.json
expect 0 gpu -w one-sample -m compiled --limit 10 --turns turns
says out 'with max-autotune not done in 10 s'
expect 0 gpu -w batch -m compiled --no-autotune
says out 'compiled (no autotune)'
expect 0 gpu -w batch,summary
grep -q '^== ' out && fail "what is there is measured again"
says out 'single samples'
says out 'geometric mean of 2, bf16, PyTorch'
# Where dlx does not compute in the type.
rm -r numbers
printf '#!/bin/sh\necho "dlx-train: cannot compute in bf16: too old" >&2\nexit 69\n' >fakes/dlx-train
expect 0 gpu -w batch
says out 'skipped: dlx-train: cannot compute in bf16: too old'
# Of those that wait for a turn the lowest rank comes first, not the one that waits longest.
"$python" - "$DLX_SOURCE/test/bench" <<'END' || fail "turns are not in order"
import os
import sys
import time

sys.path.insert(0, sys.argv[1])
from zoo_turns import Turns

first = Turns("ranked")
first.take(3)
for rank in (2, 1, 0):
    if os.fork() == 0:
        turns = Turns("ranked")
        turns.take(rank)
        time.sleep(0.2)
        turns.tell(str(rank))
        turns.leave()
        os._exit(0)
    while not first.waited_for(rank):
        time.sleep(0.01)
first.leave()
for _ in range(3):
    os.wait()
assert open("ranked").read().split() == ["0", "1", "2"], open("ranked").read()
END
expect 2 gpu -w nonsense
expect 2 gpu -m nonsense
if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
	expect 1 env DLX_PYTHON="$python" "$DLX_SOURCE/test/bench/gpu" -o none -w batch -m eager --networks demo --tiny
	says err 'finds no GPU that it can use'
fi

expect 2 zoo --networks demos
says err "'demos' is none of tiramisu"
expect 1 zoo --networks demo --build /nowhere
says err "zoo: cannot run '/nowhere/dlx-train': No such file"
pass
