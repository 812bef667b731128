#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --wisdom with several ranks, on emulated GPUs: rank 0 measures, and all compute by what it found, also a rank on which another
# engine would be faster; what the file says is not measured again; a GPU of another kind goes by the file's lines of its own. Also
# where nothing is trained, and where the file cannot be written or is damaged, which one rank says and ends all.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
several_ranks
export DLX_EMULATE_GPUS=0,1,2

# ranks N STATUS OPTION...: rank R notes the engines it uses in used.R; of rank 1 engine 44, the fastest, is slow, and rank 2's
# GPU is of another kind.
ranks() {
	n=$1
	status=$2
	shift 2
	rm -rf used.* runs/wise
	expect "$status" on_ranks "$n" sh -c 'export DLX_FAKE_CUDNN_LOG=used.$PMI_RANK
		[ "$PMI_RANK" = 1 ] && export DLX_FAKE_CUDNN_SLOW=44
		[ "$PMI_RANK" = 2 ] && export DLX_EMULATE_NAME="another GPU"
		exec "$@"' sh "$emulated" --quiet --device=cuda --set run.dir=runs/wise --set train.validate.epochs=0 \
		--set 'data.transforms=[{crop: {size: [8, 12], validation: centre}}]' --set train.batch_size=1 --set train.steps=1 \
		--set parallel.grouping=count:2 "$@" "$config"
}
# used RANK ENGINES
used() {
	[ "$(sort -u "used.$1" | tr '\n' ' ')" = "$2 " ] || fail "rank $1 uses engines $(sort -u "used.$1" | tr '\n' ' ')instead of $2"
}

ranks 3 0
used 0 43
used 1 43
ranks 3 0 --wisdom engines
used 0 "43 44"         # those that it measures
used 1 44
used 2 43              # the first proposal: nothing is known of its GPU
grep -q 'a4:eng44' engines || fail "the fastest engine is not in the file"
cp engines first
ranks 3 0 --wisdom engines
for rank in 0 1; do
	used $rank 44
done
cmp engines first || fail "what is known is measured again"

# Lines of another GPU are for that.
sed 's/emulated GPU/another GPU/' first >more
cat first >>more
ranks 3 0 --wisdom more
used 2 44

# An evaluation.
cp -r runs/wise runs/kept
rm -f used.*
expect 0 on_ranks 2 sh -c 'export DLX_FAKE_CUDNN_LOG=used.$PMI_RANK; exec "$@"' sh "$emulated" --quiet --device=cuda \
	--set run.dir=runs/kept --set 'data.transforms=[{crop: {size: [8, 12], validation: centre}}]' --set train.batch_size=1 --evaluate \
	--wisdom engines "$config"
used 1 44

# What rank 0 cannot write, or read, ends all, and is said once.
ranks 2 73 --wisdom nowhere/engines
[ "$(grep -c nowhere/engines err)" = 1 ] || fail "not one message: $(cat err)"
echo nonsense >damaged
ranks 2 65 --wisdom damaged
[ "$(grep -c 'damaged:1:' err)" = 1 ] || fail "not one message: $(cat err)"
pass
