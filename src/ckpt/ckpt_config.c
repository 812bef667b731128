/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Section 'checkpoint' of the config, and when a save is due by it. */
#include "ckpt/ckpt.h"

static const struct field every_fields[] = {
	FIELD_INT(struct ckpt_every, steps, "0", 0, 1e15, "after this many steps; 0: not by steps"),
	FIELD_FLOAT(struct ckpt_every, seconds, "0", 0, 1e9, "after this time; adds to 'minutes'"),
	FIELD_FLOAT(struct ckpt_every, minutes, "0", 0, 1e9, "after this time; adds to 'seconds'"),
	FIELD_INT(struct ckpt_every, epochs, "0", 0, 1e15,
	          "after this many epochs; 0: not by epochs"),
	FIELD_END
};

static const struct field keep_fields[] = {
	FIELD_INT(struct ckpt_keep, last, "3", 1, 1e15, "versions saved last"),
	FIELD_INT(struct ckpt_keep, best, "1", 0, 1e15,
	          "versions of the best validations, kept besides the last ones; if "
	          "not 0, a validation better "
	          "than any before saves one"),
	FIELD_END
};

const struct field ckpt_fields[] = {
	FIELD(struct ckpt_config, every, FT_SECTION, .dflt = "{minutes: 10}", .sub = every_fields,
	      .flags = FIELD_NULLABLE,
	      .doc = "when to save, besides at the end and on a signal; null: only then"),
	FIELD_SECTION(struct ckpt_config, keep, keep_fields, "which versions stay on disk"),
	FIELD_STRING(struct ckpt_config, metric, NULL,
	             "what says which validation is best: one of 'metrics', or loss; default: that of "
	             "train.target, else the first of 'metrics' that is one number, else loss"),
	FIELD_FLOAT(struct ckpt_config, reserve, "60", 0, 1e6,
	            "seconds before the end of a batch job at which to save and stop, besides "
	            "what a step and a save take"),
	FIELD_INT(struct ckpt_config, compression, "1", 1, 19, "zstd level"),
	FIELD_END
};

bool ckpt_due(const struct ckpt_config *c, const struct ckpt_clock *now)
{
	const struct ckpt_every *every = &c->every;
	double seconds = every->seconds + 60 * every->minutes;
	return (every->steps > 0 && now->step % every->steps == 0) ||
	       (seconds > 0 && now->seconds >= seconds) ||
	       (every->epochs > 0 && now->epoch_end && now->epoch % every->epochs == 0);
}
