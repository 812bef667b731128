/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the first config and the linear baseline's, with a batch whose plan fits in memory. Files
 * that are not records are converted by dlx-convert first. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/first_config.h"
#include "plan/describe/describe.h"
#include "plan/describe/describe_budget.h"
#include "train/predict/convert_program.h"
#include "train/run/opening.h"
#include "train/predict/predict_input.h"

/* Finds out by its plan what the suggestion's batch and then its length may be. */
static int fit_suggestion(struct suggestion *s, struct comm *c)
{
	const char *folder;
	TRY(io_scratch(&folder));
	for (bool fits = false; !fits;) {
		struct session_options so = { .comm = c, .ranks = 1, .quiet = true,
			                          .need = SESSION_TRAIN | SESSION_NO_DATA };
		struct run_config *config;
		struct session *session;
		struct buf text = BUF_INIT, path = BUF_INIT, why = BUF_INIT;

		suggest_write(s, "suggestion", false, &text);
		buf_printf(&path, "%s/suggestion-%lld.yaml", folder, (long long)suggest_batch(s));
		int rc = io_write_file(path.data, text.data, text.len);
		if (rc == 0)
			rc = config_load(&config, path.data, 0, NULL);
		buf_release(&text);
		buf_release(&path);
		TRY(rc);
		TRY(session_open(&session, config, &so));
		fits = describe_fit(session, &why) == 0 || !suggest_less(s);
		suggest_length(s, describe_forward_flops(session_plan(session, PLAN_TRAIN)));
		session_close(session);
		buf_release(&why);
	}
	return 0;
}

/* The stem of the file: what the run is called. */
static char *stem_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name,
	                                                                                         '.');
	char *out = mem_strdup(name);
	out[dot && dot > name ? (size_t)(dot - name) : strlen(name)] = '\0';
	return out;
}

static int write_suggestions(struct suggestion *s, struct comm *c, const char *path,
                             const char *linear)
{
	char *name[2] = { stem_of(path), stem_of(linear) };
	struct buf text = BUF_INIT;
	int rc = fit_suggestion(s, c);
	for (int k = 0; k < 2 && rc == 0; k++) {
		buf_release(&text);
		suggest_write(s, name[k], k == 1, &text);
		rc = io_write_file(k ? linear : path, text.data, text.len);
	}
	if (rc == 0) {
		buf_release(&text);
		suggest_describe(s, &text);
		printf("%s.\n%s: a network for them; %s: the linear one that it has to beat. Go on with\n"
		       "    dlx-train --check %s\n    dlx-train %s\n    dlx-train %s\n    dlx-report "
		       "runs/%s "
		       "runs/%s\n", text.data, path, linear, path, path, linear, name[0], name[1]);
	}
	buf_release(&text);
	mem_free(name[0]);
	mem_free(name[1]);
	return rc;
}

static int check_free(const char *path)
{
	return io_exists(path) ? ERR(E_USAGE, NULL, "'%s' is there: '-o FILE.yaml' names another one",
	                             path) : 0;
}

/* validation: NULL: none. */
static int suggest(struct comm *c, const char *train, const char *validation, const char *path)
{
	struct buf linear = BUF_INIT;
	struct suggestion *s;
	buf_printf(&linear, "%.*s-linear.yaml", (int)(strrchr(path, '.') - path), path);
	int rc = check_free(path);
	if (rc == 0)
		rc = check_free(linear.data);
	if (rc == 0)
		rc = suggest_open(&s, train, validation);
	if (rc == 0) {
		rc = write_suggestions(s, c, path, linear.data);
		suggest_close(s);
	}
	buf_release(&linear);
	return rc;
}

/* --- of files that are no records --- */

/* What to_records makes of them, for a config at a path. */
struct parts {
	struct buf whole, train, validation;
};

static void name_parts(struct parts *p, const char *path)
{
	const int n = (int)(strrchr(path, '.') - path);
	buf_printf(&p->whole, "%.*s.dlx", n, path);
	buf_printf(&p->train, "%.*s-train.dlx", n, path);
	buf_printf(&p->validation, "%.*s-validation.dlx", n, path);
}

static void release_parts(struct parts *p)
{
	buf_release(&p->whole);
	buf_release(&p->train);
	buf_release(&p->validation);
}

/* given: the file of the inputs, and that of the targets. */
static void make_command(struct convert_program *command, const struct texts *given,
                         const struct parts *p)
{
	const char *const words[] = { "-i", given->v[0], "-t", given->v[1], "--split",
		                          "train=0.8,validation=0.2", "-o", p->whole.data };
	convert_program_new(command);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		convert_program_add(command, words[i]);
}

static bool matches(const char *pattern)
{
	struct io_paths found = { 0 };
	const int mark = err_count();
	const bool is = io_expand(&found, pattern) == 0 && found.n && io_exists(found.v[0]);
	io_paths_release(&found);
	err_truncate(mark);
	return is;
}

/* Whether "FILE" or "FILE:NAME,NAME", a pattern too, has a file. */
static bool has_file(const char *given)
{
	const char *colon = strrchr(given, ':');
	struct buf file = BUF_INIT;
	buf_add(&file, given, colon ? (size_t)(colon - given) : 0);
	const bool has = matches(given) || (colon && matches(file.data));
	buf_release(&file);
	return has;
}

static int check_raw(const struct texts *given)
{
	for (int i = 0; i < given->n; i++)
		if (!has_file(given->v[i]))
			return ERR(E_NOINPUT, NULL, "there is no '%s'", given->v[i]);
	if (given->n == 2)
		return 0;
	return ERR(E_USAGE, NULL, "'%s' is no record, and '--suggest' makes records of two files: "
	           "'--suggest %s TARGETS'; FILE:NAME is a variable of a file or a column of a table, "
	           "FILE:NAME,NAME several", given->v[0], given->v[0]);
}

static void print_pipeline(const char *command, const struct texts *given, const struct parts *p,
                           const char *path)
{
	struct buf all = BUF_INIT;
	for (int i = 0; i < given->n; i++) {
		buf_putc(&all, ' ');
		buf_shell_word(&all, given->v[i]);
	}
	printf("%s\ndlx-train --suggest %s %s -o %s\ndlx-train --check %s\ndlx-train %s\n"
	       "# 'dlx-train --suggest%s -o %s' does the first two\n", command, p->train.data,
	       p->validation.data, path, path, path, all.data, path);
	buf_release(&all);
}

static int suggest_raw(const struct options *o, struct comm *c, const char *path)
{
	struct parts p = { BUF_INIT, BUF_INIT, BUF_INIT };
	struct convert_program command = { 0 };
	struct buf text = BUF_INIT;
	int rc = check_raw(&o->suggest);
	name_parts(&p, path);
	if (rc == 0)
		rc = check_free(path);
	if (rc == 0 && o->output)
		rc = check_free(p.train.data);
	if (rc == 0 && o->output)
		rc = check_free(p.validation.data);
	if (rc == 0) {
		make_command(&command, &o->suggest, &p);
		convert_program_text(&command, &text);
	}
	if (rc == 0 && !o->output) {
		print_pipeline(text.data, &o->suggest, &p, path);
	} else if (rc == 0) {
		printf("%s\n", text.data);
		fflush(stdout);
		rc = convert_program_run(&command);
		if (rc == 0)
			rc = suggest(c, p.train.data, p.validation.data, path);
	}
	convert_program_release(&command);
	buf_release(&text);
	release_parts(&p);
	return rc;
}

int first_config_run(const struct options *o, struct comm *c)
{
	const struct texts *given = &o->suggest;
	const char *path = o->output ? o->output : "config.yaml";
	const int records = predict_records(given);
	if (!io_ends_in(path, ".yaml") && !io_ends_in(path, ".yml"))
		return ERR(E_USAGE, NULL, "'-o %s': a config is a .yaml file", path);
	if (records == 0)
		return suggest_raw(o, c, path);
	if (records < given->n)
		return ERR(E_USAGE, NULL, "'--suggest' takes two records, or two files that are none");
	return suggest(c, given->v[0], given->n > 1 ? given->v[1] : NULL, path);
}
