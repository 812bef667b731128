/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of DLX_DEBUG. */
#include "base/debug.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/suggest.h"

enum type {
	CHOICE,                      /* const char *: one of the values */
	YES_NO,                      /* bool */
	NO_YES,                      /* bool: true for no */
	LIST,                        /* const char *: values with '+' between them */
	COUNT,                       /* int64_t, 0 or more */
	SECONDS,                     /* double, more than 0 */
	RATES,                       /* struct debug_rates: three numbers, each more than 0 */
	LINK,                        /* struct debug_link: two numbers, each more than 0 */
	FOLDER,                      /* const char * */
	POINT,                       /* const char * and crash_time: one of the values, and #N */
	FAULT,                       /* a row of fault: one of the values, and :N or :N+ */
};

#define MOST_VALUES 16               /* and a NULL after them */

struct word {
	const char *name;
	enum type type;
	size_t at;                   /* offset in struct debug */
	const char *form;            /* of the value, where values does not say it */
	const char *doc;
	const char *values[MOST_VALUES + 1];
};

#define WORD(m, t) .name = #m, .type = t, .at = offsetof(struct debug, m)
static const struct word words[] = {
	{ WORD(conv, CHOICE), .values = { "dnn", "direct", "winograd", "depthwise", "product" },
	  .doc = "on the CPU, the algorithm of every convolution that it supports" },
	{ WORD(way, CHOICE), .values = { "ours", "windows", "whole", "parts" },
	  .doc = "on a GPU, how a convolution and what belongs to it are made, where that way is "
	  "there: by kernels of dlx, one graph of cuDNN's in windows of larger buffers or packed, or "
	  "cuDNN's convolution and kernels around it" },
	{ WORD(band_pixels, COUNT), .form = "PIXELS",
	  .doc = "on a GPU, how many pixels a band of a gradient to an input has at least, in place of "
	  "131072" },
	{ WORD(skip, LIST), .form = "WORD+WORD",
	  .values = { "chains", "depthwise", "in_place", "intake", "masks", "narrow", "nothing",
	              "second_stream", "signs", "streams" },
	  .doc = "what is left out, for comparisons: a pass (masks: the gradient of a ReLU reads what "
	  "that has made; on a GPU in_place: sums of gradients have buffers of their own; intake: the "
	  "next batch travels to a place of its own; second_stream: all kernels run one after the "
	  "other; signs: gradients of batch norms read activations, not their signs), on the CPU "
	  "streams (derivatives of networks by coordinates are taken by reverse passes), or on a GPU "
	  "what a convolution has (chains: cuDNN is asked for the convolution alone; depthwise: dlx's "
	  "kernels for depthwise ones; narrow: gradients in 16 bits until the update)" },
	{ WORD(isa, CHOICE), .values = { "avx2", "avx512", "avx512_bf16", "amx" },
	  .doc = "on the CPU, the most of the instruction set that dlx's own kernels and oneDNN's "
	  "use" },
	{ WORD(proof, CHOICE), .values = { "no", "fresh" },
	  .doc = "whether kernels are proven before they are used: no: what is known of oneDNN's "
	  "decides alone, and on a GPU nothing does; fresh: also those that were proven before" },
	{ WORD(proof_seconds, SECONDS), .form = "SECONDS",
	  .doc = "how long the proof of a kernel may take before it is taken for one that does not "
	  "return; default: 30, and more for large ones. On a GPU, how long all proofs of a plan "
	  "may take; default: 30" },
	{ WORD(spoil, FOLDER), .form = "KIND:IMPL",
	  .doc = "while they are proven, kernels whose implementation begins with IMPL have a fault: "
	  "value, unwritten, bits, outside, workspace, and on the CPU threads, crash or hang; start: "
	  "all of them are not proven" },
	{ .name = "trials", .type = NO_YES, .at = offsetof(struct debug, no_trials),
	  .values = { "yes", "no" },
	  .doc = "on the CPU, whether --plan runs kernels for up to two seconds to predict a step, or "
	  "goes by rates alone; default: yes" },
	{ WORD(rates, RATES), .form = "F32:BF16:BYTES",
	  .doc = "on the CPU, what is taken for measured: flop/s of products in float32 and bfloat16, "
	  "and bytes a second, as in 371e9:2600e9:20e9; bfloat16 then counts as native" },
	{ WORD(engines, CHOICE), .values = { "precompiled", "first", "measured" },
	  .doc = "on a GPU, which engines a convolution may take: none that cuDNN compiles; the first "
	  "proposed; or by --wisdom the fastest. Default: measured, and precompiled with --gpu, where "
	  "measured compiles and keeps all that would be measured" },
	{ WORD(measure_seconds, SECONDS), .form = "SECONDS",
	  .doc = "how long --wisdom measures beyond what planning takes without it; default: 120" },
	{ WORD(compile_seconds, SECONDS), .form = "SECONDS",
	  .doc = "how long cuDNN may compile one engine before the run ends; default: 300" },
	{ WORD(input, CHOICE), .values = { "stored", "host" },
	  .doc = "batches for a GPU as they are stored, or rounded where no more is read of them; or "
	  "made float32 by the host; default: stored" },
	{ WORD(fault, FAULT), .form = "KIND:N[+]",
	  .values = { "alloc", "append", "arena", "exchange", "kernel", "payload", "read", "write" },
	  .doc = "the Nth call of a kind fails (+: and all after it; arena: the Nth is too large; "
	  "exchange: rows of the Nth tensor that 'parallel.spatial' sends arrive 0.1 % too large; "
	  "kernel: node N, a convolution by oneDNN, makes a NaN; payload: the output of the Nth task "
	  "of rank 0 of dlx-bench has a wrong bit); may be repeated" },
	{ WORD(crash_at, POINT), .form = "POINT[#N]",
	  .values = { "ckpt_chunk", "ckpt_cleaned", "ckpt_collected", "ckpt_durable", "ckpt_manifest",
	              "ckpt_pack", "ckpt_removed", "ckpt_staged", "convert_finished",
	              "convert_sample", "stage_written" },
	  .doc = "the process kills itself when it is at this point of a checkpoint, a conversion or "
	         "of data.stage for the Nth time" },
	{ WORD(ranks_per_host, COUNT), .form = "N",
	  .doc = "ranks on one host behave as if on several, with N on each; 0: as they are" },
	{ WORD(link, LINK), .form = "LATENCY:BANDWIDTH",
	  .doc = "on the CPU, messages and sums between ranks are held back for as long as a link of "
	  "this latency (s) and bandwidth (bytes/s) would take, as in 20e-6:12e9" },
	{ WORD(ranks, COUNT), .form = "N",
	  .doc = "on the CPU, with link: one rank trains as one of N, whose others are modelled: they "
	  "take as long as it does, have the same gradients, and sums take the time of the link" },
	{ WORD(sleep, YES_NO), .values = { "yes", "no" },
	  .doc = "on the CPU, kernels of training take the time that is predicted for them by rates "
	  "(rates=...), and no processor; they compute nothing, and with link sums add nothing up; "
	  "default: no" },
	{ WORD(nccl_alone, YES_NO), .values = { "yes", "no" },
	  .doc = "on a GPU, a single rank uses NCCL too; default: no" },
	{ .name = "locks", .type = NO_YES, .at = offsetof(struct debug, no_locks),
	  .values = { "yes", "no" },
	  .doc = "whether folders of checkpoints have locks; no: as on a file system without; "
	  "default: yes" },
	{ WORD(strict, YES_NO), .values = { "yes", "no" },
	  .doc = "a run that takes other memory than was planned is an error, "
	  "not a warning; default: no" },
	{ WORD(slow, YES_NO), .values = { "yes", "no" },
	  .doc = "a run is taken for slower than half of its best step, whatever its rates; "
	  "default: no" },
	{ WORD(stage_counts, YES_NO), .values = { "yes", "no" },
	  .doc = "at the end each rank says how many bytes data.stage has moved; default: no" },
	{ WORD(stage_extent, COUNT), .form = "BYTES",
	  .doc = "what data.stage reads at a time, at least, in place of 8 MiB" },
	{ WORD(read_share, COUNT), .form = "BYTES",
	  .doc = "what a rank reads of a checkpoint, at least, in place of 16 MiB" },
	{ WORD(host_root, FOLDER), .form = "DIR", .doc = "where /proc and /sys are looked for" },
	{ WORD(join_timeout, SECONDS), .form = "SECONDS",
	  .doc = "how long ranks wait for each other to join, in place of parallel.timeout" },
};
#define NWORD ((int)(sizeof words / sizeof *words))

static int unknown(const char *name)
{
	const char *names[NWORD + 1] = { 0 };
	for (int i = 0; i < NWORD; i++)
		names[i] = words[i].name;
	const char *near = did_you_mean(name, names);
	return ERR(E_USAGE, NULL, "DLX_DEBUG: unknown word '%s'%s%s%s; see dlx-train --help-debug",
	           name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* "dnn|direct", "KIND:N[+], KIND: alloc|write", "DIR" */
static void put_form(struct buf *out, const struct word *w)
{
	buf_puts(out, w->form ? w->form : "");
	if (w->form && w->values[0])
		buf_printf(out, ", %.*s: ", (int)strcspn(w->form, ":[#+"), w->form);
	for (int i = 0; w->values[i]; i++)
		buf_printf(out, "%s%s", i ? "|" : "", w->values[i]);
}

static int wrong(const struct word *w, const char *value)
{
	char head[64];                   /* without :N or #N */
	struct buf form = BUF_INIT;
	put_form(&form, w);
	snprintf(head, sizeof head, "%.*s", (int)strcspn(value, ":#+"), value);
	const char *near = did_you_mean(head, w->values);
	if (near && strcmp(near, head) == 0)
		near = NULL;
	int rc = ERR(E_USAGE, NULL, "DLX_DEBUG: '%s=%s': expected %s%s%s%s", w->name, value,
	                   form.data, near ? "; did you mean '" : "", near ? near : "",
	                   near ? "'?" : "");
	buf_release(&form);
	return rc;
}

/* The value of w that value begins with, up to the first of the characters in `ends`; *rest: what
 * follows it. */
static const char *choice(const struct word *w, const char *value, const char *ends,
                          const char **rest)
{
	const size_t n = strcspn(value, ends);
	*rest = value + n;
	for (int i = 0; w->values[i]; i++)
		if (strlen(w->values[i]) == n && strncmp(w->values[i], value, n) == 0)
			return w->values[i];
	return NULL;
}

/* A whole number from `least` on, up to the end of the text or the character `end`. */
static bool whole(const char *text, int64_t least, char end, int64_t *out)
{
	char *rest;
	*out = strtoll(text, &rest, 10);
	return *text >= '0' && *text <= '9' && *out >= least && *out < INT32_MAX &&
	       (*rest == '\0' || (*rest == end && rest[1] == '\0'));
}

static int add_fault(const struct word *w, const char *value)
{
	int64_t n;
	const char *rest, *kind = choice(w, value, ":", &rest);
	if (!kind || *rest != ':' || !whole(rest + 1, 1, '+', &n))
		return wrong(w, value);
	for (int i = 0; i < DEBUG_FAULTS; i++)
		if (!debug.fault[i].kind) {
			debug.fault[i] = (struct debug_fault){ kind, (uint64_t)n, strchr(rest, '+') != NULL };
			return 0;
		}
	return ERR(E_USAGE, NULL, "DLX_DEBUG: more than %d faults", DEBUG_FAULTS);
}

static bool set_list(const struct word *w, const char **out, const char *value)
{
	const char *rest = value;
	*out = value;
	while (choice(w, value, "+", &rest) && *rest)
		value = rest + 1;
	return choice(w, value, "", &rest) != NULL;
}

static bool set_point(const struct word *w, const char *value)
{
	int64_t n = 1;
	const char *rest;
	debug.crash_at = choice(w, value, "#", &rest);
	if (!debug.crash_at || (*rest && !whole(rest + 1, 1, '\0', &n)))
		return false;
	debug.crash_time = (uint64_t)n;
	return true;
}

/* A number above 0, up to the character `end`; *rest: what follows it, NULL after a mistake. */
static double positive(const char *text, char end, const char **rest)
{
	char *after;
	const double v = strtod(text, &after);
	const bool good = after > text && *after == end && isfinite(v) && v > 0;
	*rest = !good ? NULL : end ? after + 1 : after;
	return v;
}

static bool set_seconds(double *out, const char *value)
{
	const char *rest;
	*out = positive(value, '\0', &rest);
	return rest != NULL;
}

static bool set_rates(struct debug_rates *out, const char *value)
{
	const char *rest;
	out->f32 = positive(value, ':', &rest);
	out->bf16 = rest ? positive(rest, ':', &rest) : 0;
	out->bytes = rest ? positive(rest, '\0', &rest) : 0;
	return rest != NULL;
}

static bool set_link(struct debug_link *out, const char *value)
{
	const char *rest;
	out->latency = positive(value, ':', &rest);
	out->bandwidth = rest ? positive(rest, '\0', &rest) : 0;
	return rest != NULL;
}

static int set(const struct word *w, const char *value)
{
	void *at = (char *)&debug + w->at;
	const char *rest, *is = choice(w, value, "", &rest);
	bool good = is != NULL;
	switch (w->type) {
	case CHOICE:
		*(const char **)at = is;
		break;
	case YES_NO:
	case NO_YES:
		*(bool *)at = good && strcmp(is, w->type == YES_NO ? "yes" : "no") == 0;
		break;
	case LIST:
		good = set_list(w, at, value);
		break;
	case COUNT:
		good = whole(value, 0, '\0', at);
		break;
	case SECONDS:
		good = set_seconds(at, value);
		break;
	case RATES:
		good = set_rates(at, value);
		break;
	case LINK:
		good = set_link(at, value);
		break;
	case FOLDER:
		*(const char **)at = value;
		good = *value != '\0';
		break;
	case POINT:
		good = set_point(w, value);
		break;
	case FAULT:
		return add_fault(w, value);
	}
	return good ? 0 : wrong(w, value);
}

/* One word; the text is cut at its end and at '='. */
static int read_word(char *text)
{
	char *value = strchr(text, '=');
	if (value)
		*value++ = '\0';
	for (int i = 0; i < NWORD; i++)
		if (strcmp(words[i].name, text) == 0)
			return value ? set(&words[i], value) :
			       ERR(E_USAGE, NULL, "DLX_DEBUG: '%s' needs a value: %s=...", text, text);
	return unknown(text);
}

int debug_parse(const char *text)
{
	static char copy[4096];          /* which members of debug point into */
	int rc = 0;
	debug = (struct debug){ 0 };
	if (!text || !*text)
		return 0;
	if (strlen(text) >= sizeof copy)
		return ERR(E_USAGE, NULL, "DLX_DEBUG is longer than %zu bytes", sizeof copy - 1);
	strcpy(copy, text);
	for (char *word = copy, *next; rc == 0 && word; word = next) {
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		rc = read_word(word);
	}
	if (rc < 0)
		debug = (struct debug){ 0 };
	return rc;
}

int debug_read(void)
{
	return debug_parse(getenv("DLX_DEBUG"));
}

void debug_help(FILE *out)
{
	fprintf(out, "DLX_DEBUG=WORD=VALUE,... in the environment: switches for tests and comparisons, "
	        "which may\nchange between versions. Of several values of a "
	        "word the last one counts.\n");
	for (int i = 0; i < NWORD; i++) {
		struct buf form = BUF_INIT;
		put_form(&form, &words[i]);
		fprintf(out, "\n  %s=%s\n      %s\n", words[i].name, form.data, words[i].doc);
		buf_release(&form);
	}
}
