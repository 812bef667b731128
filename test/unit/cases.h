/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmocka's header, after those that it needs, and what most programs of cases use. */
#ifndef DLX_TEST_CASES_H
#define DLX_TEST_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#endif
