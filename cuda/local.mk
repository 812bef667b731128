# SPDX-License-Identifier: BSD-3-Clause
#
# Device code, and what speaks to the GPU's libraries. Without CUDA the files are still distributed.

CUDA_KERNELS = cuda/k_bundle.cu cuda/k_channels.cu cuda/k_copy.cu cuda/k_depthwise.cu \
	cuda/k_depthwise_tile.cu cuda/k_depthwise_weights.cu cuda/k_dice.cu cuda/k_element.cu \
	cuda/k_epilogue.cu cuda/k_few.cu cuda/k_few_back.cu cuda/k_few_weights.cu cuda/k_group_norm.cu \
	cuda/k_input.cu cuda/k_loss.cu cuda/k_map.cu cuda/k_metric.cu cuda/k_narrow.cu \
	cuda/k_narrow_five.cu cuda/k_narrow_weights.cu cuda/k_norm.cu cuda/k_norm_grad.cu \
	cuda/k_probe.cu cuda/k_random.cu cuda/k_reduce.cu cuda/k_scalar.cu cuda/k_softmax.cu \
	cuda/k_sums.cu cuda/k_window.cu
CUDA_BACKEND = src/backend/cuda/cublas.c src/backend/cuda/cuda.c src/backend/cuda/cuda_copies.c \
	src/backend/cuda/cuda_described.c src/backend/cuda/cuda_find.c \
	src/backend/cuda/cuda_prefetch.c src/backend/cuda/cuda_rates.c src/backend/cuda/cuda_second.c \
	src/backend/cuda/cuda_side.c src/backend/cuda/cuda_time.c src/backend/cuda/cuda_wait.c \
	src/backend/cuda/cudnn.c src/backend/cuda/cudnn_desc.c src/backend/cuda/cudnn_engine.c \
	src/backend/cuda/cudnn_kept.c src/backend/cuda/cudnn_list.c src/backend/cuda/cudnn_shared.c \
	src/backend/cuda/cupti.c
NCCL_FILES = src/comm/nccl.c src/comm/nccl_library.c src/comm/reducer_nccl.c \
	src/comm/reducer_nccl_ordered.c src/comm/reducer_nccl_report.c
EXTRA_DIST += cuda/README cuda/depthwise.h cuda/depthwise_tile.cuh cuda/device.cuh cuda/few.cuh cuda/few.h cuda/fragment.cuh cuda/group_norm.h cuda/join.cuh cuda/kernels.h \
	cuda/loss.cuh cuda/mma.cuh cuda/narrow.cuh cuda/narrow.h cuda/narrow_weights.h cuda/norm.cuh \
	cuda/probe.h cuda/wide.cuh $(CUDA_KERNELS)
libdlx_a_LIBADD =
if HAVE_CUDA
libdlx_a_SOURCES += $(CUDA_BACKEND)
libdlx_a_LIBADD += $(CUDA_KERNELS:.cu=.o)
else
EXTRA_DIST += $(CUDA_BACKEND)
endif
if HAVE_NCCL
libdlx_a_SOURCES += $(NCCL_FILES)
EXTRA_DIST += src/comm/nccl_none.c
else
libdlx_a_SOURCES += src/comm/nccl_none.c
EXTRA_DIST += $(NCCL_FILES)
endif
# The compilers write what each object depends on, which the end of this part includes.
.cu.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(NVCC) $(NVCCFLAGS) -I$(top_srcdir) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
SUFFIXES = .cu .cc .o .emulated.o
CLEANFILES += cuda/*.o cuda/*.d test/gpu/*.d
# The same device code on the host, where there is no GPU to test it on: fibers for threads, plain loops for the libraries.
EMULATOR = test/gpu/emulate.o test/gpu/emulate_device.o test/gpu/emulate_shared.o test/gpu/emulate_streams.o
EMULATED = $(CUDA_KERNELS:.cu=.emulated.o) $(EMULATOR)
EXTRA_DIST += test/gpu/emulate.cc test/gpu/emulate.h test/gpu/emulate_device.cc test/gpu/emulate_shared.cc \
	test/gpu/emulate_mma.h test/gpu/emulate_shared.h test/gpu/emulate_streams.cc
.cu.emulated.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(CXX) $(EMULATED_FLAGS) -DDLX_CUDA_EMULATED -MMD -MP -MF $(@:.o=.d) -x c++ -c -o $@ $<
.cc.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(CXX) $(EMULATED_FLAGS) -DDLX_CUDA_EMULATED -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
-include $(CUDA_KERNELS:.cu=.d) $(EMULATED:.o=.d) test/gpu/emulator.d
# A vector that is not aligned, an index beyond its array or a number beyond its type ends the program, as it would go wrong on a GPU.
# Fibers jump from stack to stack, which a fortified longjmp takes for a mistake.
EMULATED_FLAGS = -std=c++17 -g1 -O1 -U_FORTIFY_SOURCE -Wno-unknown-pragmas -ffp-contract=off $(CUDA_CPPFLAGS) -I$(top_srcdir) \
	-fsanitize=alignment,bounds,shift,signed-integer-overflow -fsanitize-undefined-trap-on-error
if HAVE_CUDA
check_PROGRAMS += test/gpu/conv_checks_emulated test/gpu/cudnn_plans \
	test/gpu/emulator test/gpu/optest_emulated test/gpu/train_emulated
check_DATA = test/gpu/injected.so test/gpu/fake_cupti.so test/gpu/driver/libcuda.so.1
endif
# Libraries that other programs load, whatever dlx itself is built with.
test/gpu/injected.so: test/gpu/injected.c
	@$(MKDIR_P) test/gpu
	$(AM_V_CCLD)$(CC) $(CUDA_CPPFLAGS) -std=gnu11 -g -O2 -Wall -Wextra -fPIC -shared -o $@ $(srcdir)/test/gpu/injected.c -ldl -lpthread
test/gpu/fake_cupti.so: test/gpu/fake_cupti.c
	@$(MKDIR_P) test/gpu
	$(AM_V_CCLD)$(CC) $(CUDA_CPPFLAGS) -std=gnu11 -g -O2 -Wall -Wextra -fPIC -shared -o $@ $(srcdir)/test/gpu/fake_cupti.c
# In a folder of its own, for LD_LIBRARY_PATH.
test/gpu/driver/libcuda.so.1: test/gpu/fake_driver.c
	@$(MKDIR_P) test/gpu/driver
	$(AM_V_CCLD)$(CC) $(CUDA_CPPFLAGS) -std=gnu11 -g -O2 -Wall -Wextra -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ \
		$(srcdir)/test/gpu/fake_driver.c -ldl
CLEANFILES += test/gpu/injected.so test/gpu/fake_cupti.so test/gpu/driver/libcuda.so.1
EXTRA_DIST += test/gpu/injected.c test/gpu/fake_cupti.c test/gpu/fake_driver.c
# Whether the emulation notices what it is there to notice.
test_gpu_emulator_SOURCES =
EXTRA_DIST += test/gpu/emulator.cc
test_gpu_emulator_LDADD = test/gpu/emulator.o cuda/k_bundle.emulated.o $(EMULATOR) -lstdc++ -lpthread
test_gpu_emulator_DEPENDENCIES = test/gpu/emulator.o cuda/k_bundle.emulated.o $(EMULATOR)
test_gpu_cudnn_plans_SOURCES = test/gpu/cudnn_plans.c
test_gpu_cudnn_plans_LDADD = $(LIBS_ALL)
check_PROGRAMS += test/gpu/compare_steps test/gpu/conv_checks
test_gpu_compare_steps_SOURCES = test/gpu/compare_steps.c
test_gpu_compare_steps_LDADD = $(LIBS_ALL)
FAKES = test/gpu/fake_cublas.c test/gpu/fake_cudnn.c test/gpu/fake_cudnn.h \
	test/gpu/fake_cudnn_check.c test/gpu/fake_cudnn_kept.c test/gpu/fake_cudnn_log.c test/gpu/fake_cudnn_run.c \
	test/gpu/fake_cupti_replay.c test/gpu/fake_cupti_replay.h test/gpu/fake_libraries.c
test_gpu_optest_emulated_SOURCES = test/optest/optest.c $(FAKES)
test_gpu_optest_emulated_LDADD = $(EMULATED) $(LIBS_ALL) -lstdc++
test_gpu_optest_emulated_DEPENDENCIES = $(EMULATED) libdlx.a
test_gpu_conv_checks_SOURCES = test/gpu/conv_checks.c
test_gpu_conv_checks_LDADD = $(LIBS_ALL)
test_gpu_conv_checks_emulated_SOURCES = test/gpu/conv_checks.c $(FAKES)
test_gpu_conv_checks_emulated_LDADD = $(EMULATED) $(LIBS_ALL) -lstdc++
test_gpu_conv_checks_emulated_DEPENDENCIES = $(EMULATED) libdlx.a
test_gpu_train_emulated_SOURCES = $(dlx_train_SOURCES) $(FAKES)
if HAVE_NCCL
test_gpu_train_emulated_SOURCES += test/gpu/fake_nccl.c
else
EXTRA_DIST += test/gpu/fake_nccl.c
endif
test_gpu_train_emulated_LDADD = $(EMULATED) $(LIBS_ALL) -lstdc++
test_gpu_train_emulated_DEPENDENCIES = $(EMULATED) libdlx.a
EXTRA_DIST += test/gpu/check test/gpu/libraries test/gpu/pack test/gpu/parts test/gpu/start test/gpu/thin test/gpu/windows.yaml
