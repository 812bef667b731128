# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the test scripts. The runner sets DLX_BUILD and DLX_SOURCE; each script works in a folder of its own that is
# removed if it passes (DLX_WORK, where one script runs several times at once). fail TEXT ends the test; skip TEXT ends it as skipped.
#
# No test asks how long something takes. capped and await end what hangs, after ten minutes; a machine that has ten times as
# much to do as it can needs a tenth of that.

set -u
name=$(basename "$0" .sh)
work=${DLX_WORK:-${DLX_BUILD:?}/test-work/$name}
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 99

train=$DLX_BUILD/dlx-train
convert=$DLX_BUILD/dlx-convert
inspect=$DLX_BUILD/dlx-inspect
report=$DLX_BUILD/dlx-report
ckpt=$DLX_BUILD/dlx-ckpt

# debug WORD=VALUE...: the value of DLX_DEBUG with these words behind those that are set.
debug() {
	(IFS=,; echo "${DLX_DEBUG:+$DLX_DEBUG,}$*")
}

# A run that takes other memory than was planned is an error.
DLX_DEBUG=$(debug strict=yes)
export DLX_DEBUG
# What has been proven of this machine's kernels holds for all tests.
export XDG_CACHE_HOME="$DLX_BUILD/test-cache"
# With 'device: auto' too, tests mean the CPU: also where there is a GPU.
export CUDA_VISIBLE_DEVICES=
coads=${DLX_COADS:-/usr/share/ferret-vis/data/coads_climatology.cdf}

fail() {
	echo "FAIL: $*"
	exit 1
}

skip() {
	echo "SKIP: $*"
	cd "$DLX_BUILD" && rm -rf "$work"
	exit 77
}

# big: whether this is the long form of the test, which `make bigcheck` runs.
big() {
	[ "${DLX_TIER:-check}" = big ]
}

# form SHORT LONG: that of this run.
form() {
	if big; then echo "$2"; else echo "$1"; fi
}

# capped COMMAND...: runs it, and ends it if it hangs, with status 124.
capped() {
	timeout 600 "$@"
}

# on_ranks N COMMAND...: as N ranks.
on_ranks() {
	ranks_of_it=$1
	shift
	capped mpiexec -n "$ranks_of_it" "$@" </dev/null
}

# await COMMAND...: asks until it succeeds.
await() {
	asked=0
	until "$@" >/dev/null 2>&1; do
		asked=$((asked + 1))
		[ "$asked" -lt 12000 ] || fail "in ten minutes never so: $*"
		sleep 0.05
	done
}

# reached FILE TEXT PID: waits until FILE has the text, which process PID writes.
reached() {
	until grep -qF -e "$2" "$1" 2>/dev/null; do
		kill -0 "$3" 2>/dev/null || { cat out err; fail "ended before $2"; }
		sleep 0.02
	done
}

# expect STATUS COMMAND...: runs it with its output in ./out and ./err and checks the exit status.
# MPICH's mpiexec (4.0.2) may end by SIGPIPE itself where its program ends while it is still being started: on a busy machine 2 of
# 480 runs of "mpiexec -n 1 true", none of 800 whose program lived for 0.2 s. That run is made again.
expect() {
	expected_status=$1
	shift
	"$@" >out 2>err
	got_status=$?
	case "$got_status $*" in
	"141 on_ranks "* | "141 "*"mpiexec "*)
		"$@" >out 2>err
		got_status=$?
		;;
	esac
	[ "$got_status" -eq "$expected_status" ] || {
		cat out err
		fail "exit status $got_status instead of $expected_status: $*"
	}
}

# says FILE TEXT: FILE contains TEXT.
says() {
	grep -qF -e "$2" "$1" || {
		cat "$1"
		fail "'$1' does not say: $2"
	}
}

# convert_refuses STATUS TEXT OPTION...: dlx-convert ends so with these inputs and says TEXT, and no record is left.
convert_refuses() {
	refused_status=$1 refused_text=$2
	shift 2
	rm -f out.dlx
	expect "$refused_status" "$convert" -o out.dlx "$@"
	says err "$refused_text"
	[ ! -e out.dlx ] || fail "a record is left: $*"
}

# Makes data/coads-train.dlx and data/coads-validation.dlx from the COADS climatology.
coads_data() {
	[ -f "$coads" ] || skip "no COADS climatology (package ferret-datasets)"
	mkdir -p data
	coads_convert() {
		"$convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" --classes 10,20,27 \
			--ignore 255 --samples "$1" -o "$2" >convert.log 2>&1 || {
			cat convert.log
			fail "cannot convert the COADS climatology"
		}
	}
	coads_convert '!1,4,7,10' data/coads-train.dlx
	coads_convert '1,4,7,10' data/coads-validation.dlx
}

# Sets $python to one that has torch and numpy.
find_python() {
	export PYTHONDONTWRITEBYTECODE=1
	for python in ${PYTHON:-} /usr/bin/python3 python3; do
		"$python" -c 'import numpy, torch' 2>/dev/null && return
	done
	skip "no Python with torch and numpy (packages python3-torch, python3-numpy)"
}

# compute_bf16 CONFIG: the options with which the CPU computes in bf16, by emulation if need be; none where it cannot, as without
# AVX-512: what a test says of any precision it then says of float32.
compute_bf16() {
	set -- "$1" --set precision.compute=bf16 --set precision.allow_emulation=true
	! "$train" --check "$@" 2>&1 | grep -q "device 'cpu' cannot compute in bf16" || return 0
	shift
	echo "$@"
}

# least_limit: the least limit that ./err says all plans of a run can do with on this processor.
least_limit() {
	sed -n "s/.*'train.memory: {limit: \([0-9]*[KM]iB\)}' is the least .*/\1/p" err
}

# Skips where nothing starts ranks of this dlx-train.
find_mpiexec() {
	command -v mpiexec >/dev/null || skip "no mpiexec"
	"$train" --version | grep -q '^ranks: MPICH' || skip "dlx-train was built without MPICH, whose mpiexec this test takes"
}

# Sets $python3 to one that has its own library alone.
find_python3() {
	export PYTHONDONTWRITEBYTECODE=1
	for python3 in ${PYTHON:-} /usr/bin/python3 python3; do
		"$python3" -c 'import json' 2>/dev/null && return
	done
	skip "no python3"
}

# Sets $python3 to one that has numpy.
find_numpy() {
	export PYTHONDONTWRITEBYTECODE=1
	for python3 in ${PYTHON:-} /usr/bin/python3 python3; do
		"$python3" -c 'import numpy' 2>/dev/null && return
	done
	skip 'no Python with numpy'
}

# weights_close A B TOLERANCE: the tensors of two safetensors files are as close as that.
weights_close() {
	"$python3" "$DLX_SOURCE/test/train/weights_close.py" "$@"
}

# version_of RUN: the manifest of its newest checkpoint.
version_of() {
	find "$1/checkpoints/versions" -name '*.json' ! -name '.*' | sort | tail -n 1
}

# steps_of RUN: how many its newest checkpoint has.
steps_of() {
	ls "$1/checkpoints/versions" | sed -n 's/^0*\([0-9][0-9]*\)-.*/\1/p' | sort -n | tail -n 1
}

# newest_state RUN: hash of the weights and the state of a run's newest checkpoint, whose manifest names them by their content.
newest_state() {
	sed -n '/^  "tensors"/,/^  ]/p' "$(version_of "$1")" | sha256sum
}

# losses_of RUN: the losses of its steps and the losses and metrics of its validations, a line each, as they came.
losses_of() {
	sed -n -e 's/.*"type": "step".*\("loss": [^,]*\),.*/\1/p' \
		-e 's/.*"type": "validation".*\("loss": .*\)/\1/p' "$1/metrics.jsonl"
}

# same_run A B: two runs have the same weights, state, losses and metrics, to the last bit.
same_run() {
	[ "$(newest_state "$1")" = "$(newest_state "$2")" ] || fail "$2: not the bits of $1"
	[ "$(losses_of "$1")" ] && [ "$(losses_of "$1")" = "$(losses_of "$2")" ] || {
		losses_of "$1"
		losses_of "$2"
		fail "$2: not the losses and metrics of $1"
	}
}

pass() {
	cd "$DLX_BUILD" && rm -rf "$work"
	exit 0
}
