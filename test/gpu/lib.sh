# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts here: $emulated, dlx-train with an emulated GPU.
emulated=$DLX_BUILD/test/gpu/train_emulated
[ -x "$emulated" ] || skip "dlx was built without CUDA"

# Several ranks, with an emulated GPU each.
several_ranks() {
	"$emulated" --version | grep -q 'NCCL' || skip "dlx was built without NCCL"
	find_mpiexec
	coads_data
	config=$DLX_SOURCE/test/train/tiny.yaml
	export OMP_NUM_THREADS=1
}
