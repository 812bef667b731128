/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The crash tests of the checkpoint store on a disk in memory: crash states, disks that lie about a
 * sync, failing calls, flipped bits.
 *
 *     crash [-l] [-v] [-s SEED] [-o STORY] [PART...]
 *
 * -l: the long form, which is all of it; else a share that takes seconds. -v: a line for each story
 * and each kind, and warnings of the store, which are expected, stay on stderr; under a sanitizer
 * its report too. PART: states, lies, faults, flips; all of them by default. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/log.h"
#include "crash_parts.h"

static const struct {
	const char *name;
	long (*run)(const struct crash_form *f);
} parts[] = {
	{ "states", crash_part_states },
	{ "lies", crash_part_lies },
	{ "faults", crash_part_faults },
	{ "flips", crash_part_flips },
};

static bool wanted(const char *part, int argc, char **argv)
{
	for (int i = optind; i < argc; i++)
		if (strcmp(argv[i], part) == 0)
			return true;
	return optind == argc;
}

int main(int argc, char **argv)
{
	const char *tier = getenv("DLX_TIER");
	struct crash_form f = { .all = tier && strcmp(tier, "big") == 0, .seed = 1 };
	long wrong = 0;
	int c;
	log_init("crash", 0, 1);
	if (debug_read() < 0)
		return 2;
	while ((c = getopt(argc, argv, "lvs:o:")) != -1) {
		switch (c) {
		case 'l': f.all = true; break;
		case 'v': f.verbose = true; break;
		case 's': f.seed = strtoull(optarg, NULL, 10); break;
		case 'o': f.only = optarg; break;
		default: return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!f.verbose && !freopen("/dev/null", "w", stderr))
		return 2;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (wanted(parts[i].name, argc, argv))
			wrong += parts[i].run(&f);
	printf("%s\n", wrong ? "WRONG" : "all as it must be");
	return wrong != 0;
}
