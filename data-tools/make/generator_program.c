/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/generator_program.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/signals.h"
#include "config.h"

static void usage(const struct generator_program *p)
{
	printf("usage: %s [OPTIONS] -o OUT.dlx\n\n%s\n\n", p->name, p->about);
	option_help(stdout, p->rows);
}

static void add_option(struct buf *b, const struct option_row *row, const void *options)
{
	const char *is = (const char *)options + row->at, *text = NULL;
	int64_t n;
	double v;
	if (row->type == OPTION_INT) {
		memcpy(&n, is, sizeof n);
		buf_printf(b, " --%s %lld", row->name, (long long)n);
		return;
	}
	if (row->type == OPTION_FLOAT) {
		memcpy(&v, is, sizeof v);
		buf_printf(b, " --%s ", row->name);
		buf_json_double(b, v);
		return;
	}
	BUG_IF(row->type != OPTION_TEXT && row->type != OPTION_CHOICE, "--%s", row->name);
	memcpy(&text, is, sizeof text);
	if (text)
		buf_printf(b, row->type == OPTION_TEXT ? " --%s '%s'" : " --%s %s", row->name, text);
}

bool generator_is_own(const struct option_row *row)
{
	return row->at >= sizeof(struct generator_options);
}

/* Of the options of all programs, those that the content depends on. */
static bool is_kept(const struct option_row *row)
{
	return row->at == GENERATOR_AT(n) || row->at == GENERATOR_AT(first) ||
		row->at == GENERATOR_AT(seed) || row->at == GENERATOR_AT(level);
}

/* Nothing that the content does not depend on, such as threads, for the file keeps it. */
static const char *command(const struct generator_program *p, const struct generator_options *o,
                           struct arena *a)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, p->name);
	for (int own = 0; own < 2; own++)
		for (const struct option_row *row = p->rows; row->name; row++)
			if (own ? generator_is_own(row) : is_kept(row))
				add_option(&b, row, o);
	const char *text = arena_strdup(a, b.data);
	buf_release(&b);
	return text;
}

static int make(const struct generator_program *p, struct generator_options *o, struct arena *a)
{
	struct generator g = { .first = o->first, .n = o->n,
		.threads = (int)(o->threads ? o->threads : host_processors()) };
	struct record_info info = p->describe(o);
	struct record_writer *w;
	info.command = command(p, o, a);
	TRY(record_create(&w, o->output, &info, (int)o->level));
	int rc = p->make(o, &g, w);
	if (rc < 0) {
		record_discard(w);
		return rc;
	}
	TRY(record_commit(w));
	if (!o->quiet)
		p->tell(o);
	return 0;
}

static int run(const struct generator_program *p, struct generator_options *o, int argc,
               char **argv)
{
	TRY(option_read(p->rows, o, NULL, &argc, argv));
	if (o->help)
		usage(p);
	if (o->version)
		printf("%s %s\n", p->name, PACKAGE_VERSION);
	if (o->help || o->version)
		return 0;
	if (argc > 1)
		return ERR(E_USAGE, NULL, "unexpected argument '%s'; usage: %s [OPTIONS] -o OUT.dlx",
		           argv[1], p->name);
	if (!o->output)
		return ERR(E_USAGE, NULL, "no --output given; usage: %s [OPTIONS] -o OUT.dlx", p->name);
	TRY(p->check(o));
	struct arena *a = arena_new();
	const int rc = make(p, o, a);
	arena_free(a);
	return rc;
}

int generator_main(const struct generator_program *p, struct generator_options *options, int argc,
                   char **argv)
{
	signals_block();
	log_init(p->name, 0, 1);
	int rc = signals_begin();
	if (rc == 0)
		rc = debug_read();
	if (rc == 0)
		rc = run(p, options, argc, argv);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, p->name);
	return err_exit_status(rc);
}
