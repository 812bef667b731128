#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec test/fuzz/fuzz_ckpt -n 20000 "${srcdir:-.}/test/fuzz/corpus/ckpt"
