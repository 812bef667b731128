#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# precision.compute: what is refused where and why, and that a run in bf16 learns, gives the same bits twice, stopped and resumed
# too, and leaves float32 weights.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/^train:.*/precision: {compute: bf16}\n&/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
line=$(grep -n '^precision:' tiny.yaml | cut -d: -f1)

expect 69 "$train" --check --set precision.compute=fp16 tiny.yaml
says err 'cannot compute in fp16'
# oneDNN is reported to use no instructions for bf16, although the processor may have them.
DNNL_MAX_CPU_ISA=AVX512_CORE expect 69 "$train" --check tiny.yaml
says err "tiny.yaml:$line:22: device 'cpu' cannot compute in bf16"
says err 'avx512_bf16'
DNNL_MAX_CPU_ISA=AVX2 expect 69 "$train" --check --set precision.allow_emulation=true tiny.yaml
says err 'nor the avx512bw to emulate'
# The reference device computes in float64 whatever is requested.
expect 0 "$train" --check --device reference tiny.yaml

"$train" --check --set precision.allow_emulation=true tiny.yaml >out 2>err || skip "no bf16 here, and none to emulate"
run() {
	dir=$1
	shift
	expect 0 "$train" --set precision.allow_emulation=true --set run.dir="$dir" "$@" tiny.yaml
}

run runs/whole
want=$(newest_state runs/whole)
run runs/again
[ "$(newest_state runs/again)" = "$want" ] || fail "the same run twice gave other bits"
run runs/stop --set train.steps=4
run runs/stop --resume
[ "$(newest_state runs/stop)" = "$want" ] || fail "stopped after step 4: other bits than the whole run"

run runs/accumulated --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=4
run runs/accumulated-stop --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=2
run runs/accumulated-stop --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=4 --resume
[ "$(newest_state runs/accumulated)" = "$(newest_state runs/accumulated-stop)" ] || fail "accumulation: other bits"

# Weights and moments are float32 in every file, and a run in float32 goes on from them.
grep -q '"type": "f32"' "$(version_of runs/whole)" || fail "no float32 in a checkpoint"
grep -q '"type": "bf16"' "$(version_of runs/whole)" && fail "bf16 in a checkpoint"
run runs/whole --evaluate
grep -q '"loss"' out || fail 'no loss from --evaluate'

# The same first losses as in float32, within what 8 bits of mantissa leave.
run runs/f32 --set precision.compute=f32
losses() { sed -n 's/.*"type": "step".*"loss": \([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }
losses runs/f32 >f32
losses runs/whole >bf16
paste f32 bf16 | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.05 * $1) bad = 1; n++ } END { exit bad || n < 9 }' || {
	paste f32 bf16
	fail 'losses in bf16 are far from those in f32'
}

# Casts and types are in the plan, and the plan shows the key.
expect 0 "$train" --plan --set precision.allow_emulation=true tiny.yaml
says out 'cast'
grep -q 'compute: bf16' out || fail 'the effective config does not show the type'
expect 0 "$train" --dump-step step --set precision.allow_emulation=true tiny.yaml
[ -s step/gradients.safetensors ] || fail 'no gradients from --dump-step'
pass
