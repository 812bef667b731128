# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts here: $emulated, dlx-train with an emulated GPU.
emulated=$DLX_BUILD/test/gpu/train_emulated
[ -x "$emulated" ] || skip "dlx was built without CUDA"
# Which engines are requested and how often is tested without the proofs of those that a run uses, which proofs_emulated.sh has.
DLX_DEBUG=$(debug proof=no)
# What is not emulated is small: threads would spin more than they compute.
export OMP_NUM_THREADS=1

# four_steps OPTION...: of tiny.yaml in bf16, one small sample each, after four_steps_data; on $ranks, "mpiexec -n 2" for two.
ranks=
four_steps_data() {
	coads_data
	cp "$DLX_SOURCE/test/train/tiny.yaml" .
}
four_steps() {
	capped $ranks "$emulated" --device=cuda --quiet --set 'data.transforms=[{crop: {size: [10, 14]}}]' \
		--set data.validation=null --set train.batch_size=1 --set precision.compute=bf16 --set train.steps=4 "$@" tiny.yaml
}

# Several ranks, with an emulated GPU each.
several_ranks() {
	"$emulated" --version | grep -q 'NCCL' || skip "dlx was built without NCCL"
	find_mpiexec
	find_python3
	coads_data
	config=$DLX_SOURCE/test/train/tiny.yaml
}

# lost_rank FAULT SETTING...: rank 1 of two fails so in a run, which then ends; sets $patience, what the other waits for it. The ranks are given
# little time for that; a machine that needs more of it until the fault is there is given more.
lost_rank() {
	fault=$1
	shift
	for patience in 3 12 60; do
		capped mpiexec -disable-auto-cleanup -n 2 sh -c '[ "$PMI_RANK" = 1 ] && export DLX_FAKE_NCCL="$1"; shift; exec "$@"' sh \
			"$fault" "$emulated" --quiet --device=cuda --set parallel.timeout=${patience}s "$@" "$config" >out 2>err </dev/null
		status=$?
		[ $status -ne 0 ] || fail "all is well with $fault"
		[ $status -ne 124 ] || { cat out err; fail "$fault: it hangs"; }
		grep -qxF "fake NCCL: $fault" err && return
	done
	cat out err
	fail "$fault: the ranks end before it"
}

# records TYPE NAME OPTION...: data/NAME-train.dlx and -validation.dlx, of four fields of the ocean and classes of its temperature.
records() {
	type=$1
	name=$2
	shift 2
	for set in train validation; do
		[ $set = train ] && samples='!1,4,7,10' || samples='1,4'
		expect 0 "$convert" --input "$coads:WSPD,UWND,VWND,SLP" "$@" --dtype "$type" --target "$coads:SST" \
			--classes 10,20,27 --ignore 255 --samples "$samples" -o "data/$name-$set.dlx"
	done
}
