#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of the zoo with PyTorch runs and prints its lines, and the networks that it compares are the same ones. No
# time is judged.
# limit: 15 minutes
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
    assert r["layout"] in ("channels-last", "contiguous")
assert result["measured"][0]["program"] == "dlx" and all(len(m["runs"]) == 1 for m in result["measured"])
END
# With --go-on only what is missing is measured.
cp zoo.json before.json
expect 0 zoo --networks demo --repetitions 1 --seconds 0 --modes channels-last --json zoo.json --go-on
[ ! -s out ] && cmp zoo.json before.json || fail "what is there is measured again"
expect 0 zoo --networks demo --repetitions 2 --seconds 0 --modes channels-last --json zoo.json --go-on
[ "$(grep -c '^# demo, float32: ' out)" = 2 ] || { cat out; fail "not one process of each"; }
expect 0 zoo --networks demo --repetitions 1 --seconds 0 --modes channels-last --json zoo.json
[ "$(grep -c '^# demo, float32: ' out)" = 2 ] || fail "a call without --go-on leaves something out"
# What dlx alone reaches of the ceilings, by op; on a GPU that is emulated, too.
expect 0 zoo --roofline --networks demo --json roofline.json
says out 'of the matrix peak'
says out 'conv_grad_weight ('
if [ -x "$DLX_BUILD/test/gpu/train_emulated" ]; then
	mkdir emulated && cp "$DLX_BUILD/test/gpu/train_emulated" emulated/dlx-train
	expect 0 zoo --device cuda --roofline --networks demo --batch 1 --build emulated
	says out "the host's part"
fi
# Against PyTorch as on a GPU, with stand-ins for it and for dlx-train: what is requested, memory, what takes too long to compile, and
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
[ "$(wc -l <fake-runs)" = 1 ] || fail "dlx runs more than once: $(cat fake-runs)"
grep -q 'eager (channels-last) .*  *1  *2  *0.50 .*whole GPU 20 40' out || fail "no memory of the fake GPU"
# Calls that take turns: nothing is timed while another has the lock, and what is in use on the whole GPU says nothing then.
(flock 9 && touch taken && sleep 3 && touch released) 9>turns &
await test -e taken
expect 0 gpu -w one-sample --turns turns --limit 200
[ -e released ] || fail "no turn was waited for"
grep -q ' s  demo: PyTorch eager ends$' turns || fail "no word on turns: $(cat turns)"
grep -q 'eager (channels-last)' out || fail "no steps of the fake GPU"
grep -q 'whole GPU' out && fail "a GPU that others use is reported"
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
rm -r numbers
expect 0 gpu -w one-sample -m compiled --limit 10
says out 'with max-autotune not done in 10 s'
says out 'compiled (no autotune)'
rm numbers/demo:one-sample.json
expect 0 gpu -w one-sample -m compiled --limit 10 --turns turns
says out 'with max-autotune not done in 10 s'
expect 0 gpu -w batch -m compiled --no-autotune
says out 'compiled (no autotune)'
expect 0 gpu -m compiled -w batch,summary
grep -q '^# ' out && fail "what is there is measured again"
says out 'single samples'
says out 'geometric mean of 2, bf16, PyTorch'
# A worker that has eager steps at once, and whose compiled ones crash or never come where they follow those.
cat >fake <<END
#!/bin/sh
steps() {
	echo '{"kind": "'\$1'", "samples_per_second": 1, "peak_memory": 2000000, "loss": 1, "steps": 3, "parameters": 303152, "first": 3}'
}
case \$2 in
*'"about"'*) echo '{"version": "2.0", "compiles": true, "cuda": true, "gpu": "none"}' ;;
*'"kinds": ["eager", "compiled"]'*)
	steps eager
	[ ! -e "$PWD/crash" ] || exit 1
	echo \$\$ >"$PWD/worker"
	exec sleep 1000
	;;
*'"kinds": ["compiled"]'*) steps compiled ;;
*) exit 3 ;;
esac
END
# What a call has measured before it is killed is there for the next: dlx's run too, but not on another machine.
for how in TERM KILL elsewhere; do
	rm -rf numbers fake-runs worker
	gpu -w batch --turns turns >out 2>err &
	call=$!
	awaits $call test -s worker
	awaits $call grep -q eager numbers/demo:batch.json
	worker=$(cat worker)
	comparison=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$worker/status")
	if [ $how = TERM ]; then
		send TERM "$comparison"
		ends $call
		! alive "$worker" || fail "PyTorch still runs"
	else
		send KILL "$comparison" "$worker"
		ends $call
	fi
	expect 0 gpu -w summary
	says out 'geometric mean of 1, bf16, PyTorch 2.0 eager'
	grep -q compiled out && fail "$how: a comparison that was not made"
	[ $how != elsewhere ] || sed -i 's/"machine": "[^"]*"/"machine": "elsewhere"/' numbers/demo:batch.json
	expect 0 gpu -w batch,summary
	grep -q '^# demo, bf16: PyTorch 2.0 eager' out && fail "$how: eager steps are measured again"
	says out 'geometric mean of 1, bf16, PyTorch 2.0 eager'
	says out 'geometric mean of 1, bf16, PyTorch 2.0 compiled'
	[ "$(wc -l <fake-runs)" = "$([ $how = elsewhere ] && echo 2 || echo 1)" ] || fail "$how: $(wc -l <fake-runs) runs of dlx"
done
rm -r numbers
touch crash
expect 0 gpu -w batch
says out 'PyTorch 2.0 compiled is left out: '
says out 'geometric mean of 1, bf16, PyTorch 2.0 eager'
# Where dlx alone was measured, and where it does not compute in the type.
"$python" - numbers/demo:batch.json <<'END'
import json
import sys

result = json.load(open(sys.argv[1]))
result.update(measured=result["measured"][:1], rows=[], means=[])
json.dump(result, open(sys.argv[1], "w"))
END
expect 0 gpu -w summary
says out 'demo, bf16, batch 1: dlx 1000000.000 samples/s, against nothing yet'
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
