/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-example: writes the raw data of one of the examples in configs/examples. Described in
 * dlx-example(1). */
#include "data-tools/make/example/example.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "config.h"

static const char usage[] = "usage: dlx-example [OPTIONS] NAME";

static const struct example {
	const char *name;
	int (*make)(const char *dir);
	const char *about;
} examples[] = {
	{ "classifier", example_digits, "coloured digits, channels last in .npy, with labels in .idx" },
	{ "regression", example_storms, "wind fields and the storms that they are of, in HDF5" },
	{ "unet2d", example_cells, "microscopy pictures of several sizes and their labels, in PNG" },
	{ "unet3d", example_volumes, "scanned volumes and their labels, in HDF5" },
	{ "netcdf", example_rain, "weather of four files and a ground without a time, in NetCDF" },
	{ "finetune", example_materials, "pictures of materials in .npy, and a ResNet-18's weights" },
};
#define EXAMPLES (int)(sizeof examples / sizeof *examples)

struct request {
	const char *dir;
	bool help, version;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	{ "output", 'o', OPTION_TEXT, AT(dir), "DIR", .writes = "", .folder = "a folder",
	  .doc = "the folder to write to; default: this one" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

static void help(void)
{
	printf("%s\n\nWrites the raw data of an example. NAME:\n\n", usage);
	for (int i = 0; i < EXAMPLES; i++)
		printf("    %-12s %s\n", examples[i].name, examples[i].about);
	printf("\nThe commands that make a trained network of it are in dlx-example(1). Options:\n\n");
	option_help(stdout, rows);
}

static int unknown(const char *name)
{
	struct suggest near = { .word = name };
	for (int i = 0; i < EXAMPLES; i++)
		suggest_offer(&near, examples[i].name);
	if (near.best)
		return ERR(E_USAGE, NULL, "there is no example '%s'; did you mean '%s'?", shown(name),
		           near.best);
	return ERR(E_USAGE, NULL, "there is no example '%s'; 'dlx-example --help' lists them",
	           shown(name));
}

static int make(const struct request *q, const char *name)
{
	for (int i = 0; i < EXAMPLES; i++)
		if (strcmp(name, examples[i].name) == 0) {
			TRY(io_mkdirs(q->dir));
			return examples[i].make(q->dir);
		}
	return unknown(name);
}

int main(int argc, char **argv)
{
	struct request q = { .dir = "." };
	int rc;
	log_init("dlx-example", 0, 1);
	rc = debug_read();
	if (rc == 0)
		rc = option_read(rows, &q, NULL, &argc, argv);
	if (rc == 0 && q.help)
		help();
	else if (rc == 0 && q.version)
		printf("dlx-example %s\n", PACKAGE_VERSION);
	else if (rc == 0 && argc != 2)
		rc = ERR(E_USAGE, NULL, "%s; %s", argc < 2 ? "no example named" : "one example at a time",
		         usage);
	else if (rc == 0)
		rc = make(&q, argv[1]);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-example");
	return err_exit_status(rc);
}
