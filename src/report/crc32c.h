/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC-32C (Castagnoli), as TFRecord files use it. */
#ifndef DLX_REPORT_CRC32C_H
#define DLX_REPORT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *p, size_t n);
/* Of bytes whose CRC is crc, 0 for none, and n more after them. */
uint32_t crc32c_more(uint32_t crc, const void *p, size_t n);
/* Rotated and offset: TFRecord's way to store the CRC of data that may hold CRCs itself. */
uint32_t crc32c_mask(uint32_t crc);
uint32_t crc32c_masked(const void *p, size_t n);

#endif
