/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What these commands print follows from the tables of options, keys, debugging words and ops. */
#include "cli/commands_help.h"

#include <stdio.h>
#include <string.h>

#include "backend/dnn/dnn.h"
#include "base/buf.h"
#include "base/debug.h"
#include "cli/sweep/sweep_file.h"
#include "config.h"
#include "graph/op.h"
#include "plan/config.h"
#include "yaml/help.h"
#include "yaml/schema_where.h"

int command_help(struct invocation *x)
{
	options_help(stdout, "dlx-train");
	return 0;
}

int command_help_config(struct invocation *x)
{
	struct buf out = BUF_INIT;
	schema_where_root(config_fields);
	int rc = 0;
	if (*x->o->file) {
		rc = help_text(&out, config_fields, strcmp(x->o->file, "all") == 0 ? NULL : x->o->file);
	} else {
		help_overview(&out, config_fields);
		buf_puts(&out, "\n--help-config=KEY has the keys below one, with types, ranges and "
		         "defaults: train,\nconv2d, optimizer.adam, model.resnet; --help-config=all has "
		         "every key.\n");
	}
	command_print(x->c, &out);
	return rc;
}

int command_help_debug(struct invocation *x)
{
	debug_help(stdout);
	return 0;
}

int command_man_config(struct invocation *x)
{
	struct buf out = BUF_INIT;
	help_mdoc(&out, strcmp(x->o->file, "sweep") == 0 ? sweep_fields : config_fields);
	command_print(x->c, &out);
	return 0;
}

int command_help_sweep(struct invocation *x)
{
	struct buf out = BUF_INIT;
	int rc = help_text(&out, sweep_fields, NULL);
	command_print(x->c, &out);
	return rc;
}

int command_list_ops(struct invocation *x)
{
	const struct op *op;
	for (int i = 0; (op = op_at(i)) != NULL; i++)
		printf("%-26s %s\n", op->name, op->doc);
	return 0;
}

int command_version(struct invocation *x)
{
	char library[48];
#ifdef HAVE_CUDA
	const char *more = ", cuda";
#else
	const char *more = "";
#endif
	printf("dlx-train %s\nbackends: cpu (%s)%s, reference\n", PACKAGE_VERSION,
	       dnn_describe(library, sizeof library), more);
#ifdef HAVE_NCCL
	const char *gpus = ", NCCL";
#else
	const char *gpus = "";
#endif
	printf("instructions: oneDNN %s, dlx's kernels %s\n", isa_name(dnn_isa()),
	       isa_name(isa_level()));
	printf("ranks: %s%s\n", comm_library() ? comm_library() : "no MPI", gpus);
	return 0;
}
