/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Section 'checkpoint' of the config, and when a save is due by it. */
#include "ckpt/ckpt.h"

#define INTERVALS \
	FIELD_INT(struct ckpt_every, steps, "0", 0, 1e15, "after this many steps; 0: not by steps"), \
	FIELD_FLOAT(struct ckpt_every, seconds, "0", 0, 1e9, "after this time; adds to 'minutes'"), \
	FIELD_FLOAT(struct ckpt_every, minutes, "0", 0, 1e9, "after this time; adds to 'seconds'"), \
	FIELD_INT(struct ckpt_every, epochs, "0", 0, 1e15, "after this many epochs; 0: not by epochs")

static const struct field every_fields[] = {
	INTERVALS,
	FIELD(struct ckpt_every, failures, FT_SECONDS, .dflt = "0", .min = 0, .max = 1e9,
	      .doc = "as often as is best where so much time passes between failures in the mean, by "
	      "what a save is measured to cost: the square root of twice their product; 0: not so"),
	FIELD_END
};

static const struct field local_every_fields[] = { INTERVALS, FIELD_END };

static const struct field local_fields[] = {
	FIELD(struct ckpt_local, dir, FT_PATH, .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "a folder on each host's own disk, which is made if it is not there; null: none"),
	FIELD(struct ckpt_local, every, FT_SECTION, .dflt = "{minutes: 1}", .sub = local_every_fields,
	      .doc = "when to save there"),
	FIELD_INT(struct ckpt_local, keep, "2", 1, 1e15, "versions that stay on a host, the last ones"),
	FIELD_INT(struct ckpt_local, copies, "2", 1, 1e15,
	          "hosts that have each of these versions: the run goes on while one of them is left"),
	FIELD_END
};

static const struct field keep_fields[] = {
	FIELD_INT(struct ckpt_keep, last, "3", 1, 1e15, "versions saved last"),
	FIELD_INT(struct ckpt_keep, best, "1", 0, 1e15,
	          "versions of the best validations, kept besides the last ones; if "
	          "not 0, a validation better "
	          "than any before saves one"),
	FIELD_INT(struct ckpt_keep, every, "0", 0, 1e15,
	          "versions of steps that are multiples of this stay too; 0: none"),
	FIELD_END
};

static const char *const plain_names[] = { "none", "weights", NULL };

const struct field ckpt_fields[] = {
	FIELD(struct ckpt_config, every, FT_SECTION, .dflt = "{minutes: 10}", .sub = every_fields,
	      .flags = FIELD_NULLABLE,
	      .doc = "when to save, besides at the end and on a signal; null: only then"),
	FIELD_SECTION(struct ckpt_config, keep, keep_fields, "which versions stay on disk"),
	FIELD_STRING(struct ckpt_config, metric, NULL,
	             "metric that decides which validation is best: one of 'metrics', or loss; "
	             "default: that of train.target, else the first of 'metrics' that is one number, "
	             "else loss"),
	FIELD_FLOAT(struct ckpt_config, reserve, "60", 0, 1e6,
	            "seconds before the end of a batch job at which to save and stop, besides "
	            "what a step and a save take"),
	FIELD(struct ckpt_config, store, FT_PATH, .flags = FIELD_NULLABLE,
	      .doc = "a folder that runs may share: what two versions have in common is there once; "
	             "null: RUN/checkpoints"),
	FIELD_ENUM(struct ckpt_config, plain, "none", plain_names,
	           "weights: keep those of the best version, or of the newest while there is no "
	           "validation, as RUN/checkpoints/weights.safetensors, which other programs read"),
	FIELD_SECTION(struct ckpt_config, local, local_fields,
	              "versions on the hosts' own disks besides, more often than a shared file system "
	              "may take them"),
	FIELD_INT(struct ckpt_config, compression, "1", 1, 19, "zstd level"),
	FIELD_END
};

bool ckpt_due(const struct ckpt_every *every, const struct ckpt_clock *now)
{
	double seconds = every->seconds + 60 * every->minutes;
	return (every->steps > 0 && now->step % every->steps == 0) ||
	       (seconds > 0 && now->seconds >= seconds) ||
	       (now->interval > 0 && now->seconds >= now->interval) ||
	       (every->epochs > 0 && now->epoch_end && now->epoch % every->epochs == 0);
}
