/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/foreign.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "plan/config.h"
#include "yaml/schema_where.h"
#include "yaml/synonym.h"

static bool listed(const char *word, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(*names, word) == 0)
			return true;
	return false;
}

static bool is_config(const char *arg)
{
	return io_ends_in(arg, ".yaml") || io_ends_in(arg, ".yml");
}

/* "--set KEY VALUE" and "--set KEY = VALUE" */
static int check_set(int argc, char **argv, int i)
{
	const char *key = argv[i] + strlen("--set"), *value;
	key = *key == '=' ? key + 1 : i + 1 < argc ? argv[++i] : "";
	if (!*key || strchr(key, '=') || i + 1 >= argc || is_config(key))
		return 0;
	value = argv[i + 1];
	if (strcmp(value, "=") == 0 && i + 2 < argc)
		value = argv[i + 2];
	else if (*value == '=')
		value++;
	if (is_config(value) || strncmp(value, "--", 2) == 0)
		value = "VALUE";
	return ERR(E_USAGE, NULL, "'--set' takes key and value as one word: --set %s=%s", key, value);
}

/* "--resume last CONFIG.yaml": the value would be taken for the config. */
static int check_detached(int argc, char **argv, int i)
{
	static const char *const optional[] = { "--resume", "--plan", "--bench", NULL };
	const char *value = i + 1 < argc ? argv[i + 1] : "-";
	if (!listed(argv[i], optional) || *value == '-' || is_config(value))
		return 0;
	for (int k = i + 2; k < argc; k++)
		if (is_config(argv[k]))
			return ERR(E_USAGE, NULL, "the value of '%s' follows a '=': %s=%s", argv[i],
			           argv[i], value);
	return 0;
}

/* Is there something to say of this word besides that it is no option? */
static bool explain(struct buf *out, const char *word)
{
	struct hint h;
	hint_begin(&h, word);
	bool place = schema_where_put(out, word);
	if (!place && hint_advice(&h)) {
		buf_printf(out, "; %s", hint_advice(&h));
		return true;
	}
	place = place || schema_where_put(out, hint_elsewhere(&h));
	buf_puts(out, place ? " (--set KEY=VALUE sets a key)" : "");
	return place;
}

static int check_key(const char *arg)
{
	struct buf text = BUF_INIT;
	char word[64];
	int rc = 0, n = snprintf(word, sizeof word, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
	for (char *p = word; *p; p++)
		*p = (char)(*p == '-' ? '_' : *p);
	if (n >= (int)sizeof word || n == 0)
		return 0;
	if (strcmp(word, "config") == 0)
		buf_puts(&text, "; the config stands without an option: dlx-train CONFIG.yaml");
	if (text.len || explain(&text, word))
		rc = ERR(E_USAGE, NULL, "unknown option '--%.*s'%s", (int)strcspn(arg + 2, "="), arg + 2,
		         text.data);
	buf_release(&text);
	return rc;
}

/* Does options have the name that arg begins with? */
static bool known(const char *arg, const char *const *options)
{
	for (size_t n = strcspn(arg + 2, "="); *options; options++)
		if (strlen(*options) == n && strncmp(*options, arg + 2, n) == 0)
			return true;
	return false;
}

int foreign_check(int argc, char **argv, const char *const *options)
{
	schema_where_root(config_fields);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--set") == 0 || strncmp(argv[i], "--set=", 6) == 0)
			TRY(check_set(argc, argv, i));
		else if (strncmp(argv[i], "--", 2) == 0 && known(argv[i], options))
			TRY(check_detached(argc, argv, i));
		else if (strncmp(argv[i], "--", 2) == 0)
			TRY(check_key(argv[i]));
	}
	return 0;
}
