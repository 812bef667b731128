/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From record files to batches: a dataset is the concatenation of one or more record files with
 * equal array names and dtypes, and samples of equal shapes but for the extents of their places; a
 * loader decodes, transforms and assembles batches on background threads into a ring of buffers
 * allocated once.
 *
 * Order and randomness are pure functions of (seed, epoch, index): sample i of epoch e is the
 * same for any number of threads, and a loader started at (epoch, batch) continues exactly as
 * one that ran there. Validation loaders neither shuffle nor apply random transforms (`crop` says
 * what becomes of a random crop).
 *
 * Samples that have several sizes after the transforms are trained on in batches of one size each
 * (data/epoch_order.h), all ranks with the same size at a time.
 *
 * Several ranks shard the samples without communication. Their batches together are one
 * global batch: of the m samples at the next places of the order, m = ranks * batch_size but for
 * the last ones, rank r of R has places floor(r m / R) .. floor((r + 1) m / R) - 1 (but see
 * `micro`). The order is that of one rank with a batch as large, and no rank has two samples more
 * than another.
 *
 * Sources with weights, and hosts that shuffle their own share, have an order of their own:
 * data/draws.h.
 *
 * The training loop is the only caller; one thread. */
#ifndef DLX_DATA_LOADER_H
#define DLX_DATA_LOADER_H

#include "data/axes.h"
#include "data/mixup.h"
#include "data/staging.h"
#include "yaml/schema.h"

/* --- section 'data' of the config --- */

/* Whose statistics the transforms use: those of the set the network was trained on, or each set's
 * own. A training may have them from the file that it begins with: of inputs and targets, or of
 * inputs alone. */
enum statistics_of { STATISTICS_MODEL, STATISTICS_DATA, STATISTICS_INIT_FROM,
	STATISTICS_INIT_FROM_INPUTS };

/* What is shuffled: nothing, all samples of an epoch, or those that each host has a share of. */
enum data_shuffle { SHUFFLE_NOT, SHUFFLE_ALL, SHUFFLE_WITHIN_HOST };

struct data_config {
	struct sections train;         /* of struct data_source: see sources.h */
	struct strings validation;
	struct ynode *transforms;      /* list of tagged entries; see data_transforms in transform.h */
	struct ynode *target_transforms;      /* such a list, too; see target_transforms.h */
	struct ynode *validation_transforms;  /* for all but training; NULL: `transforms` */
	struct mixup_config mixup;
	struct staging_config stage;
	int statistics;                /* enum statistics_of */
	struct ynode *shuffle;         /* NULL: false; see shuffle_parse */
	bool keep_short_batch;         /* the last batch of an epoch may be short (default true) */
	int64_t threads;               /* decode threads */
	int64_t prefetch;              /* batches decoded ahead; 0: by their size */
};
extern const struct field data_fields[];

/* --- datasets --- */

struct buf;
struct dataset;

struct dataset_info {
	int64_t samples;
	struct shape input, target;              /* of one sample as stored, without the sample axis; of
	                                          * several sizes the first */
	bool has_target;
	enum dtype input_dtype, target_dtype;
	const char *const *input_channels;       /* names, as many as input.d[0], or NULL */
	const char *const *target_channels;      /* of a field: as many as target.d[0], or NULL */
	const char *const *classes;              /* names of the target's classes, or NULL */
	int nclasses;
	int64_t target_ignore;                   /* value of "no label"; INT64_MIN: none */
	int mask;                                /* input channel, not 0 where others are valid; -1 */
	struct axes axes;                        /* of samples and their places, as the files agree */
};

/* Of the valid values of one input channel; see record.h. */
struct channel_stats;
struct record_array;

/* Opens every file named by paths (globs expanded and sorted). E_NOINPUT for a missing file or
 * a glob without a match (with the config place of the pattern), E_DATA for a damaged or
 * foreign file or one that does not fit the first. */
int dataset_open(struct dataset **out, const struct strings *paths);
/* What a network keeps of the set that it was trained on, as one line of JSON: types, shapes and
 * names, statistics, how often each class occurs. Appended to out. */
void dataset_describe(const struct dataset *d, struct buf *out);
/* A set without samples, of such a text: it answers questions, and reads nothing. name stands for
 * its file in messages. E_DATA. */
int dataset_from_description(struct dataset **out, const char *name, const char *text);
/* Gives d the statistics of another set of the same inputs, and with `target` also of the same
 * targets: from now on they are what questions and the description say. name stands for the other
 * set in messages. E_DATA where channels, or types that are no floats, differ. */
int dataset_take_statistics(struct dataset *d, const struct dataset *from, const char *name,
                            bool target);
/* Whether d, which is evaluated or predicted from, has what `trained` has, which the network was
 * trained on: names of channels and classes in the same order, the mask, and the same places in the
 * same order. E_DATA says what differs, and in which file. What either does not say is no
 * difference. */
struct dataset_use {
	bool target;                   /* the target is needed */
	bool converted;                /* files are records of other files, which messages mean */
	bool notes;                    /* a note says where places are others */
};
int dataset_agree(const struct dataset *d, const struct dataset *trained, struct dataset_use use);
/* The same of what a training goes on with, and of the description of what it began with. */
int dataset_agree_sets(const struct dataset *now, const struct dataset *then);
/* From now on places are taken by their order, whatever coordinates say of them; and whether. */
void dataset_match_by_index(void);
bool dataset_matches_by_index(void);
bool dataset_has_samples(const struct dataset *d);                     /* for tests */
/* Notes the files as inputs (base/io.h) without opening them; what is not there is left out. */
void dataset_note_inputs(const struct strings *paths);
/* The same of `data.train`, whose sources with weights are then known. */
int dataset_open_sources(struct dataset **out, const struct sections *train);
void dataset_free(struct dataset *d);
const struct dataset_info *dataset_info(const struct dataset *d);
/* The sources with weights that the set consists of, in order; 0: it has none. */
struct dataset_source {
	const char *files;             /* its first path or glob */
	int patterns;                  /* of these, in all */
	double weight, share;          /* share: of the sum of all weights */
	int64_t first, samples;        /* its samples follow each other */
	struct loc loc;
};
int dataset_sources(const struct dataset *d);
const struct dataset_source *dataset_source(const struct dataset *d, int k);
/* How many sizes its samples have; what dataset_info says, with the shapes and axes of samples of
 * size k; and which size sample i has. */
int dataset_sizes(const struct dataset *d);
const struct dataset_info *dataset_info_of(const struct dataset *d, int k);
int dataset_size_of(const struct dataset *d, int64_t i);
/* What the samples read so far have cost this process. Thread-safe. */
struct data_bytes {
	int64_t read;                  /* stored, wherever they came from (staging_counts) */
	int64_t decoded;               /* raw */
};
struct data_bytes dataset_bytes(const struct dataset *d);
/* What sample i is called in its file, or NULL. */
const char *dataset_key(const struct dataset *d, int64_t i);
/* Sample i as stored, plain layout, into input and target (either may be NULL). Verifies the
 * sample's hash. Thread-safe. For tests. */
int dataset_read(struct dataset *d, int64_t i, void *input, void *target);
/* A hash of the identity of the data (file contents' hashes), for checkpoints: resuming on
 * other data is refused. */
uint64_t dataset_fingerprint(const struct dataset *d);
/* Samples (or pixels) per class value 0..nclasses-1 of an integer target over the whole set,
 * from the record's statistics where stored, else counted. */
int dataset_class_counts(struct dataset *d, int nclasses, int64_t *counts);
/* How often the record files say that labels of nclasses or above occur, `ignore` apart, and those
 * that a file ignores, but the loss does not; *label: the smallest such label, *file: a file that
 * has it. Decodes nothing: 0 also where the files do not say. */
int64_t dataset_foreign_labels(const struct dataset *d, int64_t nclasses, int64_t ignore,
                               int64_t *label, const char **file);
/* How many labels are a class 0..nclasses-1, `ignore` apart, as the record files say; -1: they do
 * not say. */
int64_t dataset_counted_labels(const struct dataset *d, int64_t nclasses, int64_t ignore);
/* How many values of targets that are fields are not finite, as the record files say; *file: the
 * first that has some. */
int64_t dataset_missing_targets(const struct dataset *d, const char **file);
/* The file that holds sample i, for messages, and the sample's number in it. */
const char *dataset_locate(const struct dataset *d, int64_t i, int64_t *within);
/* How many samples of d are among those of `other`, as the files say, some of which may not; and
 * the first of them in d, which is sample `other` there. Decodes nothing. */
struct dataset_shared {
	int64_t samples, first, other;
};
struct dataset_shared dataset_shared(const struct dataset *d, const struct dataset *other);
/* One for each input channel, over all files. */
const struct channel_stats *dataset_statistics(const struct dataset *d);
/* The target of all files: names and statistics of its channels; see record.h. */
const struct record_array *dataset_target(const struct dataset *d);

/* --- loaders --- */

struct loader;
struct transform_rest;               /* transform.h */

/* Where batches are kept if not in ordinary memory: alloc gives what is aligned to 64 bytes, or
 * NULL. Both are called in the loop's thread. */
struct batch_memory {
	void *(*alloc)(const void *of, size_t bytes);
	void (*free)(const void *of, void *p, size_t bytes);
	const void *of;
};

struct loader_options {
	const struct data_config *config;
	struct batch_memory memory;    /* alloc NULL: ordinary memory */
	bool training;                 /* shuffle and random transforms */
	uint64_t seed;
	int64_t batch_size;            /* of one rank, whatever the size of the samples */
	int64_t step_batches;          /* batches of a step, which all have samples of one size; 0: 1 */
	/* A sample that batch_size is meant for, or NULL. Batches of larger samples have as many fewer,
	 * but one at least: whole fields take about the memory of a training batch's windows. */
	const struct shape *like;
	int rank, ranks;               /* ranks 0: the only one */
	/* With `shuffle: {within: host}`: ranks are counted host by host, as many on each of them. */
	int host, hosts;               /* hosts 0: one */
	/* Not 0: of a short batch each rank has as much as of a whole one, as long as there is
	 * something left, so that it is cut at the same places for any number of ranks; and a rank that
	 * has nothing is given this many samples (fewer if there are no more), not one. */
	int64_t micro;
	int processors;                /* no more decode threads than these; 0:
	                                * as many as the config says */
	enum dtype target_dtype;       /* DTYPE_I32 for class labels, DTYPE_F32 for fields */
	/* Batches as they are stored where that pays, or rounded: see transform.h. With mixup inputs
	 * are float32. */
	bool stored_input, stored_target;
	enum dtype rounded;
	int64_t classes, ignore;       /* of labels, which are checked; classes 0: they are not */
	/* Whose statistics the transforms use, unless data.statistics says each set's own; NULL: the
	 * loader's own set. What a network was trained with must also be what it is validated with: the
	 * training set belongs here for every loader of a run. Needed in loader_new only. */
	const struct dataset *statistics;
	bool no_statistics;            /* there are none: transforms that need some are refused */
	const struct strings *further; /* names of further arrays of the record that batches have, as
	                                * stored; NULL: none. E_UNSUPPORTED with mixup, several sizes,
	                                * and other transforms than cast and normalize */
	/* k + 1: samples of size k alone (dataset_size_of), in the order of the set; 0: all. Not for
	 * training. */
	int only_size;
};

/* The arrays of a batch. Inputs and targets have gone through the transforms: they are float32 or
 * rounded, and the loader's type; or as stored. MIXUP holds targets of the samples that these are
 * blended with (mixup.h). */
enum { BATCH_INPUT, BATCH_TARGET, BATCH_MIXUP, BATCH_FURTHER, BATCH_ARRAYS = 8 };
struct batch_array {
	const char *name;              /* "input", "target", "mixup_target" */
	enum dtype dtype;
	int64_t each;                  /* elements of a sample */
	const void *data;              /* (n, ...), samples one after the other */
};

struct batch {
	int64_t n;                     /* samples: batch_size, or fewer at an epoch's end */
	int size;                      /* of its samples: the number of loader_size */
	int64_t epoch, index;          /* index of the global batch within the epoch */
	int64_t first;                 /* how many samples of the epoch are before its first one */
	int64_t all;                   /* samples of all ranks in this batch */
	/* Fewer samples were left than there are ranks, and this one has none: its one sample, another
	 * rank's too, is there so that it can keep step, and must not count. */
	bool absent;
	struct batch_array array[BATCH_ARRAYS];  /* BATCH_INPUT and so on, then further ones */
	int narrays;
	const struct batch_array *more;          /* that are not the loader's, or NULL */
	int nmore;
	double share;                  /* of the first sample in a blend */
	/* What batch_memory gave, in which these arrays are; NULL: they are in ordinary memory. */
	const void *memory;
	size_t memory_bytes;
};

/* The array of this name, which the batch has. */
const struct batch_array *batch_array(const struct batch *b, const char *name);
static inline const void *batch_input(const struct batch *b)
{
	return b->array[BATCH_INPUT].data;
}
static inline const void *batch_target(const struct batch *b)
{
	return b->array[BATCH_TARGET].data;
}

/* Where rank's share of a batch of `all` samples begins; it ends where the next rank's does. */
static inline int64_t loader_share(int64_t all, int64_t rank, int64_t ranks)
{
	return rank * all / ranks;
}

/* Plans the transforms (errors carry their config place). d must outlive the loader. A training
 * loader begins to decode the first epoch at once, another one when it is asked. */
int loader_new(struct loader **out, struct dataset *d, const struct loader_options *o);
/* A loader of steps alone, one batch each, all in one epoch: for training that reads no samples.
 * Its batches have no arrays, and one "sample" of each rank. */
struct loader *loader_new_steps(int64_t steps, int rank, int ranks);
void loader_free(struct loader *l);
/* *differ: whether samples of d's sizes still have several sizes after the transforms. */
int loader_sizes_differ(struct dataset *d, const struct loader_options *o, bool *differ);
int loader_threads(const struct loader *l);                     /* that decode; for tests */
/* Pieces of samples decoded by threads that helped another one; for tests. */
int64_t loader_helped(struct loader *l);
int64_t loader_memory(const struct loader *l);                  /* bytes of its batches; NULL: 0 */
/* Samples of training may have several sizes after the transforms, the largest first; elsewhere
 * there is one. What follows is that of the first size, unless it says otherwise. */
int loader_sizes(const struct loader *l);
struct loader_size {
	const struct shape *input, *target;  /* of one sample */
	const struct transform_rest *rest;
	int64_t samples, batches;            /* of an epoch, on all ranks; samples that fill no batch
	                                      * count too */
	int64_t short_batch;                 /* as loader_short_batch */
};
struct loader_size loader_size(const struct loader *l, int k);
/* Shapes of one sample after the transforms. */
const struct shape *loader_input_shape(const struct loader *l);
const struct shape *loader_target_shape(const struct loader *l);
/* What batches are of, and what is left to do to them. */
const struct transform_rest *loader_rest(const struct loader *l);
/* Samples of a whole batch of a rank, or of a micro-batch of it. */
int64_t loader_batch_size(const struct loader *l);
/* What that would be, and the short_batch of loader_size(l, k), with another batch_size. */
struct loader_batch {
	int64_t size, short_batch;
};
struct loader_batch loader_batch_of(const struct loader *l, int k, int64_t batch_size);
int64_t loader_batches(const struct loader *l);        /* global ones per epoch, of all sizes */
int64_t loader_steps(const struct loader *l);          /* an epoch's, of step_batches or fewer */
/* Of any epoch: how many batches a step has that begins with batch `index`; the samples of all
 * batches before `index`, which may be the number of batches: those that an epoch is trained on. */
int64_t loader_step_batches(const struct loader *l, int64_t epoch, int64_t index);
int64_t loader_samples_before(const struct loader *l, int64_t epoch, int64_t index);
/* Samples of the whole set, of all sizes and all ranks' shares together; in training each counts as
 * often as it gives windows. */
int64_t loader_samples(const struct loader *l);
/* Of these, what source k of the set has: the same number in each epoch. */
int64_t loader_source_samples(const struct loader *l, int k);
/* The n of the last batch of an epoch on this rank if that
 * batch is short (of all ranks); else 0. */
int64_t loader_short_batch(const struct loader *l);
/* (Re)starts so that the next batch is `index` of `epoch`; where it is that already, what is
 * decoded stays. Batches run on across epochs. */
int loader_seek(struct loader *l, int64_t epoch, int64_t index);
/* The next batch, valid until the next call; blocks until decoded. Decode errors arrive here. */
int loader_next(struct loader *l, const struct batch **b);
/* Which sample of the batch that loader_next gave last has `place` samples of the epoch before it
 * (batch.first and on): its number in the set; which of its windows; the number of the one that it
 * is blended with, -1: none. */
struct loader_sample {
	int64_t index, window, partner;
};
struct loader_sample loader_sample(const struct loader *l, int64_t place);
/* Seconds the caller has waited in loader_next so far. */
double loader_wait_seconds(const struct loader *l);

#endif
