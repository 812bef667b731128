# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/backend in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/backend/cuda/cublas.h src/backend/cuda/cuda.h src/backend/cuda/cuda_copies.h \
	src/backend/cuda/cuda_described.h src/backend/cuda/cuda_find.h \
	src/backend/cuda/cuda_prefetch.h src/backend/cuda/cuda_second.h src/backend/cuda/cuda_side.h \
	src/backend/cuda/cuda_state.h src/backend/cuda/cuda_time.h src/backend/cuda/cudnn.h \
	src/backend/cuda/cudnn_desc.h src/backend/cuda/cudnn_engine.h \
	src/backend/cuda/cudnn_kept.h src/backend/cuda/cudnn_list.h \
	src/backend/cuda/cudnn_shared.h src/backend/cuda/cupti.h \
	src/backend/bf16_ratio.c src/backend/bf16_ratio.h src/backend/device.c \
	src/backend/device.h src/backend/dnn/conv_geom.h src/backend/dnn/cpu.c \
	src/backend/dnn/cpu.h src/backend/dnn/dnn.c src/backend/dnn/dnn.h \
	src/backend/dnn/dnn_code.c src/backend/dnn/dnn_code.h src/backend/dnn/dnn_deeper.c \
	src/backend/dnn/dnn_deeper.h src/backend/dnn/dnn_isa.c src/backend/dnn/dnn_md.c src/backend/dnn/dnn_md.h src/backend/dnn/dnn_quirks.c src/backend/dnn/dnn_quirks.h src/backend/dnn/dnn_prim.c \
	src/backend/exec.c src/backend/exec.h src/backend/exec_sleep.c src/backend/exec_state.h src/backend/exec_trial.c src/backend/inputs.c src/backend/inputs.h \
	src/backend/node_time.c src/backend/node_time.h src/backend/openmp.c src/backend/openmp.h \
	src/backend/plan_env.c src/backend/plan_env.h \
	src/backend/proof/passed.c src/backend/proof/passed.h src/backend/proof/proof.h \
	src/backend/proof/proof_bench.c src/backend/proof/proof_case.c src/backend/proof/proof_device.c \
	src/backend/proof/proof_memory.c src/backend/proof/proof_memory.h src/backend/proof/proof_pattern.c \
	src/backend/proof/proof_pattern.h src/backend/proof/proof_run.c src/backend/proof/proof_spoil.c \
	src/backend/proof/proof_spoil.h src/backend/proof/proof_values.c src/backend/proof/proof_values.h \
	src/backend/proof/proof_watch.c src/backend/proof/proof_watch.h \
	src/backend/proof/verdicts.c src/backend/proof/verdicts.h src/backend/readback.c \
	src/backend/readback.h src/backend/replay.c src/backend/replay.h src/backend/second.c src/backend/second.h src/backend/store.c src/backend/store.h src/backend/store_init.c \
	src/backend/store_init.h src/backend/transfer.c src/backend/transfer.h \
	src/backend/wisdom.c src/backend/wisdom.h
