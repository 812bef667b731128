#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every op: every fourth sample from number 4 on, so that the four scripts together take all, on all processors.
exec "${DLX_BUILD:?}/test/optest/optest" --shard=4/4
