/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys of the section `data`. */
#include "data/sources.h"
#include "data/target_transforms.h"
#include "data/transform.h"

static const char *const statistics_names[] = { "model", "data", "init_from", "init_from_inputs",
                                              NULL };

const struct field data_fields[] = {
	FIELD(struct data_config, train, FT_SECTIONS, .dflt = "", .variants = sources_row,
	      .doc = "record files: a path, a glob or a list of them, or sources with weights; see "
	             "SOURCES"),
	FIELD(struct data_config, validation, FT_PATHS, .flags = FIELD_NULLABLE,
	      .doc = "record files that are only evaluated"),
	FIELD_NODE(struct data_config, compare, NULL,
	           "networks of samples, and the arrays of 'validation' that each is compared with; "
	           "see dlx-physics(7)"),
	FIELD_LIST(struct data_config, transforms, NULL, data_transforms,
	           "what happens to each sample, in this order"),
	FIELD_LIST(struct data_config, target_transforms, NULL, data_target_transforms,
	           "how targets that are quantities are scaled for the loss, in this order; metrics "
	           "and predictions have the target's own units; see TARGETS"),
	FIELD_LIST(struct data_config, validation_transforms, NULL, data_transforms,
	           "what happens to samples of validation, evaluation and prediction instead; absent: "
	           "'transforms' without what is random"),
	FIELD_ENUM(struct data_config, statistics, "model", statistics_names,
	           "whose statistics the transforms use: model: those of the "
	           "training set, which are kept "
	           "with each checkpoint; data: each set's own; init_from: a training has those of the "
	           "file 'model.init_from', init_from_inputs: of inputs alone; see TRANSFORMS"),
	FIELD_SECTION(struct data_config, mixup, mixup_fields,
	              "training samples blended in pairs; the loss is that of both targets"),
	FIELD_NODE(struct data_config, shuffle, "true",
	           "a new order of the training samples each epoch: true, false or {within: host}; see "
	           "SOURCES"),
	FIELD_BOOL(struct data_config, keep_short_batch, "true",
	           "the last batch of an epoch, of each size of samples, may have fewer; false: "
	           "training leaves it out"),
	FIELD_INT(struct data_config, threads, "2", 1, 256,
	          "background threads that decode samples, large ones together; no more than the rank "
	          "has processors"),
	FIELD_INT(struct data_config, prefetch, "0", 0, 64,
	          "batches decoded ahead, for training and validation on a GPU in pinned memory; 0: 2, "
	          "and of small batches as many as 16 MiB hold, at most 16"),
	FIELD_SECTION(struct data_config, stage, staging_fields,
	              "training and validation samples are read from the file system that hosts share "
	              "once, each by one rank, and kept by the hosts; false: they are not; see "
	              "STAGING"),
	FIELD_END
};
