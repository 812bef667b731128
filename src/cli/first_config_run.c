/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the first config and its linear one, after a plan has said what fits in memory. */
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/first_config.h"
#include "plan/describe.h"
#include "plan/describe_budget.h"
#include "train/opening.h"

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

int first_config_run(const struct options *o, struct comm *c)
{
	const char *path = o->output ? o->output : "config.yaml";
	const char *dot = io_ends_in(path, ".yaml") || io_ends_in(path, ".yml") ? strrchr(path,
	                                                                                  '.') : NULL;
	struct buf linear = BUF_INIT;
	struct suggestion *s;
	int rc = dot ? 0 : ERR(E_USAGE, NULL, "'-o %s': a config is a .yaml file", path);
	buf_printf(&linear, "%.*s-linear.yaml", (int)(dot ? dot - path : 0), path);
	for (int k = 0; k < 2 && rc == 0; k++)
		if (io_exists(k ? linear.data : path))
			rc = ERR(E_USAGE, NULL, "'%s' is there: '-o FILE.yaml' names another one",
			         k ? linear.data : path);
	if (rc == 0)
		rc = suggest_open(&s, o->suggest.v[0], o->suggest.n > 1 ? o->suggest.v[1] : NULL);
	if (rc == 0) {
		rc = write_suggestions(s, c, path, linear.data);
		suggest_close(s);
	}
	buf_release(&linear);
	return rc;
}
