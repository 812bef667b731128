#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How a run computes on processors that DLX_DEBUG=rates describes: which kernels take its convolutions in bf16, and which type
# 'precision.compute: auto' stands for, with its reason; a run that goes on, or whose weights are used, keeps both, and ranks agree on
# the least that one of them has.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
export XDG_CACHE_HOME="$PWD/cache"
# A matrix unit (AMX), dot products that are no faster than float32's, and dot products twice as fast.
unit=rates=371e9:2600e9:20e9 slow=rates=371e9:232e9:20e9 dots=rates=371e9:760e9:20e9

# as RATES COMMAND...: on such a processor.
as() {
	as_rates=$1
	shift
	DLX_DEBUG=$(debug "$as_rates" trials=no) "$@"
}

# kernels RATES CONFIG: the convolutions of its plan in bf16, a line each, with their kernels.
kernels() {
	as "$1" "$train" --device cpu --plan --set precision.compute=bf16 "$2" 2>err >plan || {
		cat err
		fail "no plan of $2"
	}
	awk '$3 ~ /^conv/ { print $1, $2, $3, $4, $NF }' plan
}

begin "kernels"
# Without AVX-512 oneDNN has no kernels in bf16 to plan, and dlx no Winograd.
DLX_DEBUG=$(debug "$unit") "$train" --check --set precision.compute=bf16 "$DLX_SOURCE/test/train/tiny.yaml" >out 2>err ||
	skip "no bf16 here, and none to emulate"
for config in unet3d-lits deeplabv3+-sc18 tiramisu-sc18; do
	config_of=$DLX_SOURCE/configs/$config.yaml
	kernels "$slow" "$config_of" >slow
	kernels "$dots" "$config_of" >dots
	cmp slow dots || fail "$config: dot products of any rate have the kernels that were measured with them"
	grep -q 'winograd:' slow || fail "$config: no Winograd where dot products are slow"
	kernels "$unit" "$config_of" >unit
	[ -s unit ] && ! grep 'winograd:' unit || fail "$config: Winograd in float32 where products in bf16 are seven times as fast"
	says plan 'compute       bf16'
	says plan 'kernels are chosen for products 8 times as fast as in f32'
	says plan '371 GFLOP/s in f32, 2600 GFLOP/s in bf16 and 20 GB/s, as described'
done
# float32 has nothing of it, nor has what is allowed: kernels that are not faster.
as "$unit" expect 0 "$train" --device cpu --plan "$DLX_SOURCE/configs/unet3d-lits.yaml"
says out 'winograd:'
! grep -q '^compute ' out || fail "a run in float32 measures the rates of bf16"

begin "auto: which type and why, as text and in JSON"
sed -e 's/^train:.*/precision: {compute: auto}\n&/' -e 's/growth: 4/growth: 16/' -e 's/initial_filters: 8/initial_filters: 32/' \
	"$DLX_SOURCE/test/train/tiny.yaml" >auto.yaml
# chooses TYPE REASON COMMAND...: its plan says so.
chooses() {
	chosen_type=$1 chosen_why=$2
	shift 2
	expect 0 "$@" --plan auto.yaml
	says out "compute       $chosen_type, $chosen_why"
	says out 'compute: auto'
	expect 0 "$@" --plan=json auto.yaml
	says out "\"compute\": {\"type\": \"$chosen_type\", "
	says out "\"why\": \"$chosen_why"
}
as "$unit" chooses bf16 "chosen by 'auto': products run at 2600 GFLOP/s against 371 in f32" "$train"
says out '"ratio": 8,'
as "$dots" chooses bf16 "chosen by 'auto': products run at 760 GFLOP/s against 371 in f32" "$train"
as "$slow" chooses f32 "chosen by 'auto': products run at 371 GFLOP/s, in bf16 at 232, which is not about twice as fast" "$train"
says out '"ratio": null,'
chooses f32 "chosen by 'auto': there are no instructions for bf16" env DNNL_MAX_CPU_ISA=AVX512_CORE "$train"
chooses f32 "chosen by 'auto': the reference computes in float64" "$train" --device reference
if "$train" --version | grep -q '^backends:.*cuda'; then
	chooses bf16 "chosen by 'auto': compute capability 9.0 has instructions for bf16" "$train" --gpu h100
fi
! ls cache/dlx 2>/dev/null | grep -q "^bf16-" || fail "rates that were not measured are kept"

begin "a resumed run keeps its type and its kernels"
# The kernels of this network are others on the two processors, so that its bits depend on them.
kernels "$unit" auto.yaml >unit
kernels "$slow" auto.yaml >slow
! cmp -s unit slow || fail "the test's network has the same kernels on both"

# A run that goes on keeps its type and its kernels, wherever it does so; so do the commands that use its weights.
run() {
	run_rates=$1 dir=$2
	shift 2
	as "$run_rates" expect 0 "$train" --set run.dir="$dir" "$@" auto.yaml
}
run "$unit" runs/whole
says out "computing in bf16, chosen by 'auto'"
says runs/whole/metrics.jsonl '"precision": "bf16"'
says runs/whole/metrics.jsonl '"peak_flops": 2600000000000'
run "$unit" runs/stop --set train.steps=4
run "$slow" runs/stop --resume
says out "computing in bf16, as 'auto' has chosen for checkpoint 4-"
says err 'chosen for products in bf16 8 times as fast as in f32; on this machine they would be chosen for 0.5 times'
[ "$(newest_state runs/stop)" = "$(newest_state runs/whole)" ] || fail "a run that goes on on another processor has other bits"
run "$slow" runs/f32
says runs/f32/metrics.jsonl '"precision": "f32"'
says runs/f32/metrics.jsonl '"peak_flops": 371000000000'
run "$unit" runs/f32 --resume --set train.steps=10
says out "computing in f32, as 'auto' has chosen for checkpoint 9-"
run "$unit" runs/whole --evaluate
grep '"type": "validation"' out >want
run "$slow" runs/whole --evaluate
grep '"type": "validation"' out | cmp - want || fail "an evaluation on another processor takes another type"
run "$slow" runs/whole --evaluate --set precision.compute=f32
! grep '"type": "validation"' out | cmp -s - want || fail "an evaluation in float32 gives what one in bf16 does"
DNNL_MAX_CPU_ISA=AVX512_CORE expect 69 "$train" --set run.dir=runs/whole --evaluate auto.yaml
says err "'auto' keeps the type of checkpoint 9-"
DNNL_MAX_CPU_ISA=AVX512_CORE expect 0 "$train" --set run.dir=runs/whole --set precision.compute=f32 --evaluate auto.yaml

begin "where the type is given, a run keeps its kernels all the same"
run "$unit" runs/given --set precision.compute=bf16 --set train.steps=4
run "$slow" runs/given --set precision.compute=bf16 --resume
says err 'chosen for products in bf16 8 times'
[ "$(newest_state runs/given)" = "$(newest_state runs/whole)" ] || fail "with the type given: other bits"

begin "ranks agree on what the least of them has"
command -v mpiexec >/dev/null && "$train" --version | grep -q '^ranks: MPICH' || pass
export OMP_NUM_THREADS=1
# ranks RATES RATES: a plan by two ranks on such processors.
ranks() {
	expect 0 capped mpiexec -n 1 env "DLX_DEBUG=$(debug "$1" trials=no)" "$train" --plan auto.yaml : \
		-n 1 env "DLX_DEBUG=$(debug "$2" trials=no)" "$train" --plan auto.yaml
}
ranks "$unit" "$slow"
says out "compute       f32, chosen by 'auto': on rank 1 products run at 371 GFLOP/s, in bf16 at 232"
ranks "$slow" "$unit"
says out "compute       f32, chosen by 'auto': products run at 371 GFLOP/s, in bf16 at 232"
ranks "$unit" "$dots"
says out "compute       bf16, chosen by 'auto': on rank 1 products run at 760 GFLOP/s against 371"
says out 'kernels are chosen for products 2 times as fast'
pass
