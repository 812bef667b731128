/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/convert_command.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* How many arguments from this one on are an option that the content does not depend on; 0: it is
 * none. */
static int left_out(const char *arg)
{
	static const struct { const char *name; char letter; bool value; } out[] = {
		{ "--output", 'o', true }, { "--threads", 'j', true }, { "--quiet", 'q', false },
		{ "--resume", 0, false },
	};

	for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
		const size_t n = strlen(out[i].name);

		if (strncmp(arg, out[i].name, n) == 0 && (!arg[n] || arg[n] == '='))
			return 1 + (out[i].value && !arg[n]);
		if (arg[0] == '-' && out[i].letter && arg[1] == out[i].letter)
			return 1 + (out[i].value && !arg[2]);
	}
	return 0;
}

const char *convert_command(struct arena *a, int argc, char **argv)
{
	struct buf b = BUF_INIT;
	const char *text;
	buf_puts(&b, "dlx-convert");
	for (int i = 1; i < argc; i++) {
		const int skip = left_out(argv[i]);

		i += skip ? skip - 1 : 0;
		if (skip)
			continue;
		buf_putc(&b, ' ');
		buf_shell_word(&b, argv[i]);
	}
	text = arena_strdup(a, b.data);
	buf_release(&b);
	return text;
}
