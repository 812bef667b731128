/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A row for each kind of fault. */
#include "backend/proof/proof_spoil.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"

static void value(const struct proof_spoilt *at, int run)
{
	(void)run;
	dtype_set(at->type, at->last, 0, 3 + 2 * dtype_get(at->type, at->last, 0));
}

static void unwritten(const struct proof_spoilt *at, int run)
{
	memset(at->last, run ? 0x7f : 0xff, dtype_size(at->type));
}

static void bits(const struct proof_spoilt *at, int run)
{
	*at->last ^= run == 1;
}

static void threads(const struct proof_spoilt *at, int run)
{
	*at->last ^= run == 2;
}

static void outside(const struct proof_spoilt *at, int run)
{
	(void)run;
	*at->after ^= 1;
}

static void workspace(const struct proof_spoilt *at, int run)
{
	(void)run;
	*at->before ^= 1;
}

static void crash(const struct proof_spoilt *at, int run)
{
	(void)at;
	(void)run;
	raise(SIGSEGV);
}

static void hang(const struct proof_spoilt *at, int run)
{
	(void)at;
	(void)run;
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*spoil)(const struct proof_spoilt *at, int run);
} kinds[] = {
	{ "value", value }, { "unwritten", unwritten }, { "bits", bits }, { "threads", threads },
	{ "outside", outside }, { "workspace", workspace }, { "crash", crash }, { "hang", hang },
};

bool proof_spoils(const char *impl)
{
	const char *of = debug.spoil ? strchr(debug.spoil, ':') : NULL;
	return of && strncmp(impl, of + 1, strlen(of + 1)) == 0;
}

void proof_spoil(const struct proof_spoilt *at, int run)
{
	const size_t n = strcspn(debug.spoil, ":");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && strncmp(debug.spoil, kinds[i].name, n) == 0)
			kinds[i].spoil(at, run);
}
