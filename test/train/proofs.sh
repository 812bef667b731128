#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernels are proven before they are used: each kind of fault that a test puts into them is found, named and passed over, and the run
# has the numbers of one without it; verdicts are kept for later runs, --plan and other processes; ranks pass over the same ones. What
# a processor has to choose from differs, so names are read from what a run says.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
coads_data
plain=$DLX_DEBUG
cat >net.yaml <<'END'
run: {name: net, seed: 5}
model:
  family: layers
  layers:
    - conv2d: {filters: 16, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 24, kernel: 3, stride: 2, padding: same}
    - relu
    - resize: {factor: 2}
    - conv2d: {filters: 4, kernel: 1}
data:
  train: data/coads-train.dlx
  transforms:
    - crop: {size: [24, 32]}
    - normalize: {method: standard, mask: validity}
loss: {type: softmax_cross_entropy}
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 2, batch_size: 4}
checkpoint: {every: null}
report: {every: 1, tensorboard: false}
END

# fresh: from here on nothing has been proven.
fresh() {
	rm -rf cache
	export XDG_CACHE_HOME=$work/cache
}

# run NAME [WORDS OF DLX_DEBUG [OPTION...]]
run() {
	run_name=$1 words=${2:-}
	shift
	[ $# -eq 0 ] || shift
	DLX_DEBUG=$plain${words:+,$words} expect 0 capped "$train" --set "run.dir=runs/$run_name" "$@" net.yaml
}

# All lines of the cache are whole.
whole_cache() {
	[ -s cache/dlx/proofs ] || fail "nothing is kept"
	tab=$(printf '\t')
	! grep -vE "^[0-9a-f]{16} [0-9a-f]{32} (right|[0-9a-f]{16}$tab[^$tab]+$tab[^$tab]+$tab[^$tab]+)$" cache/dlx/proofs || fail "lines that are none"
}

fresh
run right
! grep -q 'passed over' err || { cat err; fail "a kernel of this machine is passed over"; }
whole_cache
proven=$(wc -l <cache/dlx/proofs)
expect 0 "$train" --export right.safetensors runs/right
run again
[ "$(wc -l <cache/dlx/proofs)" -eq "$proven" ] || fail "the second run proved again"
same_run runs/right runs/again

begin "faults of oneDNN's kernels"
# What a strided gradient of the input takes here, which is oneDNN's; its like.
expect 0 "$train" --plan net.yaml
name=$(awk '$3 == "conv_grad_input" && $4 == "conv2d_1" { print $NF }' out)
case $name in
'') cat out; fail "no kernel" ;;
*ref*) skip "oneDNN has reference code alone for this processor" ;;
esac
family=${name%%:*}

# fault KIND TEXT IMPL [OPTION...]: kernels that begin with IMPL have it.
fault() {
	kind=$1 text=$2 impl=$3
	shift 3
	fresh
	run "$kind" "spoil=$kind:$impl,proof_seconds=1" "$@"
	says err "is passed over for conv_grad_input"
	says err ": $text"
	whole_cache
	expect 0 "$train" --export "$kind.safetensors" "runs/$kind"
	weights_close right.safetensors "$kind.safetensors" 1e-4 || fail "$kind: other numbers"
	proven=$(wc -l <cache/dlx/proofs)
	run "$kind-later" '' "$@"
	says err ": $text"
	[ "$(wc -l <cache/dlx/proofs)" -eq "$proven" ] || fail "$kind: the second run proved again"
	same_run "runs/$kind" "runs/$kind-later"
}
fault value 'wrong values' "$name"
expect 0 "$train" --plan net.yaml
says out "passed over   "
says out ": $name, wrong values"
! grep -q '^proofs ' out || fail "a kernel is unproven"
expect 0 "$train" --plan=json net.yaml
"$python3" -c 'import json, sys
plan = json.load(open("out"))
assert plan["unproven"] == 0, plan["unproven"]
assert any(p["kernel"] == sys.argv[1] and p["fault"] == "wrong values" for p in plan["passed_over"]), plan["passed_over"]' "$name" ||
	fail "the plan in JSON"
fault unwritten 'values that are not written or not finite' "$name"
fault bits 'other bits the second time' "$name"
fault outside 'writes outside of its memory' "$name"
fault workspace 'writes outside of its memory' "$name"
fault crash 'ends the process' "$name"
fault hang 'does not return' "$name"
fault threads 'other bits with one thread' "$name" --set parallel.reproducible=true

begin "faults of dlx's own kernels, where the processor has some"
fresh
expect 0 "$train" --plan net.yaml
says out 'have not been proven on this machine'
wide="model.layers=[{conv2d: {filters: 32, kernel: 3, padding: same}}, relu, {conv2d: {filters: 64, kernel: 3, padding: same}},
	{conv2d: {filters: 4, kernel: 1}}]"
expect 0 "$train" --plan --set "$wide" net.yaml
if grep -q 'winograd:' out; then
	run own spoil=value:winograd --set "$wide"
	says err 'winograd is passed over for conv'
	run other '' --set "$wide" --set precision.winograd=false
	for run in own other; do
		expect 0 "$train" --export "$run.safetensors" "runs/$run"
	done
	weights_close own.safetensors other.safetensors 1e-4 || fail "without Winograd: other numbers"
fi

begin "a run that resumes with other kernels says so"
fresh
run changed "spoil=value:$family" --set train.steps=1
fresh
run changed '' --resume
says err 'was made with other kernels'
run changed '' --resume --set train.steps=3
! grep -q 'other kernels' err || fail "the same kernels are called others"

begin "the cache"
# Where nothing can be kept, nothing is; a file that is damaged is read as far as it goes; what was proven is proven again if requested.
rm -rf cache
for where in null/none net.yaml; do
	ln -sf /dev/null null
	export XDG_CACHE_HOME="$work/$where"
	run "nowhere-${where%%/*}"
	same_run runs/right "runs/nowhere-${where%%/*}"
done
fresh
mkdir -p cache/dlx
printf 'none\n0123456789abcdef 0123 right\n\377\376 half a line' >cache/dlx/proofs
run damaged
same_run runs/right runs/damaged
kept=$(wc -l <cache/dlx/proofs)
run damaged-later
[ "$(wc -l <cache/dlx/proofs)" -le $((kept + 1)) ] || fail "a damaged file is not added to"
run repeated proof=fresh
[ "$(wc -l <cache/dlx/proofs)" -gt $((kept + 1)) ] || fail "proof=fresh proves nothing"
fresh
run without "proof=no,spoil=value:$family"
[ ! -e cache/dlx/proofs ] || fail "proof=no proves"
same_run runs/right runs/without

begin "without a process the run continues and says that nothing is proven"
fresh
run alone spoil=start:
says err 'kernels are used that are not proven on this machine'
same_run runs/right runs/alone

begin "several runs at once"
fresh
for i in 1 2 3; do
	capped "$train" --set run.dir=runs/together$i net.yaml >out$i 2>err$i &
	together="${together:-} $!"
done
for pid in $together; do
	ends "$pid"
	[ "$status" -eq 0 ] || { cat err1 err2 err3; fail "runs at once"; }
done
whole_cache
same_run runs/right runs/together2

has_ranks || pass

begin "ranks on other processors use what all of them have, and a fault of one of them holds for all"
fresh
export OMP_NUM_THREADS=1
base="--set train.global_batch_size=4 --set train.batch_size=null"
expect 0 capped mpiexec -n 1 env DLX_DEBUG="$plain,isa=avx2,ranks_per_host=1" "$train" $base --set run.dir=runs/unlike net.yaml \
	: -n 1 env DLX_DEBUG="$plain,ranks_per_host=1" "$train" $base --set run.dir=runs/unlike net.yaml
if "$train" --version | grep -q 'oneDNN avx512\|oneDNN amx'; then
	says err 'all ranks use the instruction set avx2, which rank 0 has'
fi
fresh
expect 0 capped mpiexec -n 1 env DLX_DEBUG="$plain,ranks_per_host=1" "$train" $base --set run.dir=runs/one net.yaml \
	: -n 1 env XDG_CACHE_HOME="$work/other" DLX_DEBUG="$plain,ranks_per_host=1,spoil=value:$family" "$train" $base --set run.dir=runs/one net.yaml
says err 'is passed over for conv_grad_input'
fresh
expect 0 capped mpiexec -n 1 env DLX_DEBUG="$plain,proof=no" "$train" $base --set run.dir=runs/silent net.yaml \
	: -n 1 env DLX_DEBUG="$plain,spoil=value:$family" "$train" $base --set run.dir=runs/silent net.yaml
says err 'is passed over for conv_grad_input'
fresh
expect 0 capped mpiexec -n 2 "$train" $base --set run.dir=runs/two net.yaml
whole_cache
[ "$(sort cache/dlx/proofs | uniq -d | wc -l)" -eq 0 ] || fail "two ranks of a host proved the same"
pass
