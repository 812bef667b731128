/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC-32C (Castagnoli), as TFRecord files use it. */
#ifndef DLX_REPORT_CRC32C_H
#define DLX_REPORT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *p, size_t n);
/* Continues a CRC: crc is that of the bytes so far (0: none), p points to n more. */
uint32_t crc32c_more(uint32_t crc, const void *p, size_t n);
/* TFRecord's masked form of a CRC (rotated, plus a constant), for data that may itself contain
 * CRCs. */
uint32_t crc32c_mask(uint32_t crc);
uint32_t crc32c_masked(const void *p, size_t n);

#endif
