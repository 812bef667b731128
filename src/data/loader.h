/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From record files to batches. A dataset is the concatenation of record files with equal array
 * names and types, whose samples have equal shapes except for their spatial extents. A loader
 * decodes, transforms and assembles batches in background threads, in a ring of buffers that is
 * allocated once.
 *
 * Order and randomness are pure functions of (seed, epoch, index): sample i of epoch e is the
 * same for any number of threads, and a loader started at (epoch, batch) continues exactly as
 * one that ran there. Validation loaders neither shuffle nor apply random transforms (`crop` says
 * what becomes of a random crop).
 *
 * If samples have several sizes after the transforms, each training batch has samples of one size
 * (data/epoch_order.h), and all ranks use the same size at the same time.
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

/* Whose statistics the transforms use: those of the set that the network was trained on, or each
 * set's own. A training run may take them from the file of initial weights: for inputs and targets,
 * or for inputs only. */
enum statistics_of { STATISTICS_MODEL, STATISTICS_DATA, STATISTICS_INIT_FROM,
	STATISTICS_INIT_FROM_INPUTS };

/* What is shuffled: nothing, all samples of an epoch, or the samples of each host's share. */
enum data_shuffle { SHUFFLE_NOT, SHUFFLE_ALL, SHUFFLE_WITHIN_HOST };

struct data_config {
	struct sections train;         /* of struct data_source: see sources.h */
	struct strings validation;
	struct ynode *compare;         /* map of networks of samples to what they are compared with; see
	                                * plan/physics/physics.h */
	struct ynode *transforms;      /* list of tagged entries; see data_transforms in transform.h */
	struct ynode *target_transforms;      /* such a list for targets; see target_transforms.h */
	struct ynode *validation_transforms;  /* used for everything but training; NULL: `transforms` */
	struct mixup_config mixup;
	struct staging_config stage;
	int statistics;                /* enum statistics_of */
	struct ynode *shuffle;         /* NULL: false; see shuffle_parse */
	bool keep_short_batch;         /* the last batch of an epoch may be short (default true) */
	int64_t threads;               /* decode threads */
	int64_t prefetch;              /* number of batches decoded ahead; 0: chosen by their size */
};
extern const struct field data_fields[];

/* --- datasets --- */

struct buf;
struct dataset;

struct dataset_info {
	int64_t samples;
	struct shape input, target;              /* shapes of one stored sample, without the sample
	                                          * axis; with several sizes those of the first */
	bool has_target;
	enum dtype input_dtype, target_dtype;
	const char *const *input_channels;       /* names, as many as input.d[0], or NULL */
	const char *const *target_channels;      /* of a field: as many as target.d[0], or NULL */
	const char *const *classes;              /* names of the target's classes, or NULL */
	int nclasses;
	int64_t target_ignore;                   /* value of "no label"; INT64_MIN: none */
	int mask;                                /* input channel, not 0 where others are valid; -1 */
	struct axes axes;                        /* axes of samples and positions, as far as the files
	                                          * agree */
};

/* Statistics of the valid values of one channel; see record.h. */
struct channel_stats;
struct record_array;

/* Opens every file named by paths (globs expanded and sorted). E_NOINPUT for a missing file or
 * a glob without a match (with the config place of the pattern), E_DATA for a damaged or
 * foreign file or one that does not fit the first. */
int dataset_open(struct dataset **out, const struct strings *paths);
/* Appends what a checkpoint keeps of the training set, as one line of JSON: types, shapes and
 * names, statistics, and how often each class occurs. */
void dataset_describe(const struct dataset *d, struct buf *out);
/* Makes a set without samples from such a text: its properties can be queried, but nothing can be
 * read. name is used in messages instead of a file name. E_DATA. */
int dataset_from_description(struct dataset **out, const char *name, const char *text);
/* Replaces the statistics of d's inputs, and with `target` of its targets, by those of another set;
 * all queries and the description then return these. name is the other set's name in messages.
 * E_DATA if channels differ, or types that are not floats. */
int dataset_take_statistics(struct dataset *d, const struct dataset *from, const char *name,
                            bool target);
/* Whether d, a set for evaluation or prediction, matches `trained`, the set that the network was
 * trained on: the same names of channels and classes in the same order, the same mask, and the same
 * positions in the same order. E_DATA says what differs, and in which file. Metadata that one of
 * them lacks is not compared. */
struct dataset_use {
	bool target;                   /* the target is needed */
	bool converted;                /* the records were converted from other files, which messages
	                                * should name */
	bool notes;                    /* print a note if positions differ */
};
int dataset_agree(const struct dataset *d, const struct dataset *trained, struct dataset_use use);
/* Compares the data that a resumed training uses now with the description of the data it began
 * with. */
int dataset_agree_sets(const struct dataset *now, const struct dataset *then);
/* dataset_match_by_index: from now on positions are matched by their index and coordinates are not
 * compared. dataset_matches_by_index: whether this was called. */
void dataset_match_by_index(void);
bool dataset_matches_by_index(void);
bool dataset_has_samples(const struct dataset *d);                     /* for tests */
/* Registers the files as inputs (base/io.h) without opening them; missing files are ignored. */
void dataset_note_inputs(const struct strings *paths);
/* As dataset_open, for `data.train`, which may have sources with weights. */
int dataset_open_sources(struct dataset **out, const struct sections *train);
void dataset_free(struct dataset *d);
const struct dataset_info *dataset_info(const struct dataset *d);
/* The sources with weights that the set consists of, in order. */
struct dataset_source {
	const char *files;             /* the source's first path or glob */
	int patterns;                  /* number of paths and globs */
	double weight, share;          /* share: the weight divided by the sum of all weights */
	int64_t first, samples;        /* its samples in the set: number of the first, and their
	                                * count */
	struct loc loc;
};
int dataset_sources(const struct dataset *d);
const struct dataset_source *dataset_source(const struct dataset *d, int k);
/* dataset_sizes: the number of different sizes of samples. dataset_info_of: as dataset_info, with
 * the shapes and axes of samples of size k. dataset_size_of: the size of sample i. */
int dataset_sizes(const struct dataset *d);
const struct dataset_info *dataset_info_of(const struct dataset *d, int k);
int dataset_size_of(const struct dataset *d, int64_t i);
/* Bytes that this process has handled for the samples read so far. Thread-safe. */
struct data_bytes {
	int64_t read;                  /* stored (compressed) bytes, from any source (staging_counts) */
	int64_t decoded;               /* bytes after decoding */
};
struct data_bytes dataset_bytes(const struct dataset *d);
/* The name of sample i in its file, or NULL. */
const char *dataset_key(const struct dataset *d, int64_t i);
/* Sample i as stored, plain layout, into input and target (either may be NULL). Verifies the
 * sample's hash. Thread-safe. For tests. */
int dataset_read(struct dataset *d, int64_t i, void *input, void *target);
/* A hash of the data (of the files' content hashes), for checkpoints: a run cannot be resumed on
 * other data. */
uint64_t dataset_fingerprint(const struct dataset *d);
/* Samples (or pixels) per class value 0..nclasses-1 of an integer target over the whole set,
 * from the record's statistics where stored, else counted. */
int dataset_class_counts(struct dataset *d, int nclasses, int64_t *counts);
/* How many labels are nclasses or above, according to the record files, not counting `ignore`;
 * labels that a file ignores but the loss does not are included. *label: the smallest such label,
 * *file: a file that contains it. Decodes nothing: 0 also if the files have no counts. */
int64_t dataset_foreign_labels(const struct dataset *d, int64_t nclasses, int64_t ignore,
                               int64_t *label, const char **file);
/* How many labels are a class 0..nclasses-1, not counting `ignore`, according to the record files;
 * -1: the files have no counts. */
int64_t dataset_counted_labels(const struct dataset *d, int64_t nclasses, int64_t ignore);
/* How many target values are not finite, for targets that are fields, according to the record
 * files; *file: the first file that has some. */
int64_t dataset_missing_targets(const struct dataset *d, const char **file);
/* The file that holds sample i, for messages, and the sample's number in it. */
const char *dataset_locate(const struct dataset *d, int64_t i, int64_t *within);
/* How many samples of d are also in `other`, according to the hashes in the files (some may have
 * none). first: the first such sample in d, which is sample `other` of that set. Decodes
 * nothing. */
struct dataset_shared {
	int64_t samples, first, other;
};
struct dataset_shared dataset_shared(const struct dataset *d, const struct dataset *other);
/* Statistics of each input channel, over all files. */
const struct channel_stats *dataset_statistics(const struct dataset *d);
/* Names and statistics of the target's channels, over all files; see record.h. */
const struct record_array *dataset_target(const struct dataset *d);

/* --- loaders --- */

struct loader;
struct transform_rest;               /* transform.h */

/* An allocator for batches (pinned memory, for instance). alloc returns memory aligned to 64 bytes,
 * or NULL. Both functions are called in the training loop's thread. */
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
	int64_t batch_size;            /* samples of a batch of one rank, for samples of any size */
	int64_t step_batches;          /* batches of a step, which all have samples of one size; 0: 1 */
	/* Shape of the sample that batch_size refers to, or NULL. Batches of larger samples have
	 * proportionally fewer samples, at least one, so that a batch of whole fields takes about as
	 * much memory as a training batch of windows. */
	const struct shape *like;
	int rank, ranks;               /* ranks 0: the only one */
	/* For `shuffle: {within: host}`: ranks are numbered host by host, with equally many on each. */
	int host, hosts;               /* hosts 0: one */
	/* If not 0: in a short batch each rank has as many samples as in a full one, as long as samples
	 * are left, so that the batch is split at the same positions for any number of ranks. A rank
	 * without samples is given `micro` samples (fewer if there are no more) instead of one. */
	int64_t micro;
	int processors;                /* most decode threads; 0: as many as the config says */
	enum dtype target_dtype;       /* DTYPE_I32 for class labels, DTYPE_F32 for fields */
	/* Leave batches in their stored type if that is efficient, or round them: see transform.h. With
	 * mixup, inputs are float32. */
	bool stored_input, stored_target;
	enum dtype rounded;
	int64_t classes, ignore;       /* labels are checked against these; classes 0: they are not
	                                * checked */
	/* The set whose statistics the transforms use, unless data.statistics selects each set's own;
	 * NULL: the loader's set. Validation must use the same statistics as training, so the training
	 * set belongs here for every loader of a run. Needed only during loader_new. */
	const struct dataset *statistics;
	bool no_statistics;            /* there are no statistics: transforms that need them are
	                                * refused */
	const struct strings *further; /* names of further arrays of the record that batches contain, as
	                                * stored; NULL: none. E_UNSUPPORTED with mixup, several sizes,
	                                * or other transforms than cast and normalize */
	/* k + 1: only samples of size k (dataset_size_of), in the order of the set; 0: all samples. Not
	 * for training. */
	int only_size;
	bool windows;                  /* batches contain a window of each sample: nothing is decoded
	                                * before loader_set_windows. E_UNSUPPORTED with mixup or
	                                * further arrays */
};

/* The part of an array of a sample that a batch contains: `size` positions from `begin` on along
 * each of the array's last axes. axes 0: the whole array. */
#define LOADER_WINDOW_AXES 3
struct loader_window {
	int axes;
	int64_t begin[LOADER_WINDOW_AXES], size[LOADER_WINDOW_AXES];
};

/* The arrays of a batch. Inputs and targets have been transformed: they are float32 (or rounded)
 * and of the target type, or still as stored. BATCH_MIXUP is the targets of the samples that are
 * blended in (mixup.h). */
enum { BATCH_INPUT, BATCH_TARGET, BATCH_MIXUP, BATCH_FURTHER, BATCH_ARRAYS = 8 };
struct batch_array {
	const char *name;              /* "input", "target", "mixup_target" */
	enum dtype dtype;
	int64_t each;                  /* number of elements of a sample */
	const void *data;              /* (n, ...), samples one after the other */
};

struct batch {
	int64_t n;                     /* samples: batch_size, or fewer at an epoch's end */
	int size;                      /* index of its samples' size (see loader_size) */
	int64_t epoch, index;          /* index of the global batch within the epoch */
	int64_t first;                 /* number of samples of the epoch before its first one */
	int64_t all;                   /* samples of the global batch */
	/* There were fewer samples left than ranks, and this rank has none of its own. Its one sample
	 * is a copy of another rank's, so that it can take part in collectives; it must not count. */
	bool absent;
	struct batch_array array[BATCH_ARRAYS];  /* BATCH_INPUT and so on, then further ones */
	int narrays;
	const struct batch_array *more;          /* further arrays that the caller adds, or NULL */
	int nmore;
	double share;                  /* mixup: weight of the first sample in a blend */
	/* The memory from batch_memory that contains these arrays; NULL: they are in ordinary
	 * memory. */
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

/* The first sample of rank's share in a global batch of `all` samples; the share ends where the
 * next rank's begins. */
static inline int64_t loader_share(int64_t all, int64_t rank, int64_t ranks)
{
	return rank * all / ranks;
}

/* Plans the transforms (errors carry their config location). d must outlive the loader. A training
 * loader begins to decode the first epoch at once, other loaders at the first request. */
int loader_new(struct loader **out, struct dataset *d, const struct loader_options *o);
/* A loader for training that reads no samples: it only counts steps, of one batch each, all in one
 * epoch. Its batches have no arrays, and one "sample" of each rank. */
struct loader *loader_new_steps(int64_t steps, int rank, int ranks);
/* Sets the windows of a loader made with loader_options.windows, whose samples have one size, and
 * allocates its batches. Whole samples are decoded and transformed, and their windows stored. Call
 * it once, before the first batch. E_NOMEM. */
int loader_set_windows(struct loader *l, const struct loader_window *input,
                       const struct loader_window *target);
void loader_free(struct loader *l);
/* *differ: whether samples of d still have several sizes after the transforms. */
int loader_sizes_differ(struct dataset *d, const struct loader_options *o, bool *differ);
int loader_threads(const struct loader *l);                     /* number of decode threads; for
                                                                 * tests */
/* Number of pieces of samples that threads decoded for another thread; for tests. */
int64_t loader_helped(struct loader *l);
int64_t loader_memory(const struct loader *l);                  /* bytes of memory of its batches;
                                                                 * NULL: 0 */
/* In training, samples may have several sizes after the transforms, sorted by size, the largest
 * first; otherwise there is one size. The functions below return values for the first size, unless
 * they say otherwise. */
int loader_sizes(const struct loader *l);
struct loader_size {
	const struct shape *input, *target;  /* of one sample */
	const struct transform_rest *rest;
	int64_t samples, batches;            /* of an epoch, on all ranks; samples include those that
	                                      * fill no batch */
	int64_t short_batch;                 /* as loader_short_batch */
};
struct loader_size loader_size(const struct loader *l, int k);
/* Shapes of one sample after the transforms. */
const struct shape *loader_input_shape(const struct loader *l);
const struct shape *loader_target_shape(const struct loader *l);
/* The types of the batches' arrays, and the transforms that are left to the reader of a batch. */
const struct transform_rest *loader_rest(const struct loader *l);
/* Number of samples of a full batch of one rank, or of one of its micro-batches. */
int64_t loader_batch_size(const struct loader *l);
/* The batch size, and the short_batch of loader_size(l, k), that another batch_size would give to
 * rank `rank` of this many ranks; ranks 0: as for the loader. */
struct loader_batch {
	int64_t size, short_batch;
};
struct loader_batch loader_batch_of(const struct loader *l, int k, int64_t batch_size, int rank,
                                    int ranks);
int64_t loader_batches(const struct loader *l);        /* global batches per epoch, of all sizes */
int64_t loader_steps(const struct loader *l);          /* steps per epoch, of step_batches or fewer
                                                        * batches each */
/* loader_step_batches: the number of batches of the step that begins with batch `index`.
 * loader_samples_before: the number of samples in all batches before `index`, which may be the
 * number of batches (then it is the number of samples that an epoch trains on). Both for any
 * epoch. */
int64_t loader_step_batches(const struct loader *l, int64_t epoch, int64_t index);
int64_t loader_samples_before(const struct loader *l, int64_t epoch, int64_t index);
/* Number of samples of the whole set, of all sizes and ranks; in training each counts once per
 * window. */
int64_t loader_samples(const struct loader *l);
/* How many of these are from source k of the set: the same number in each epoch. */
int64_t loader_source_samples(const struct loader *l, int k);
/* Number of samples of this rank in the last global batch of an epoch if that batch is short; else
 * 0. */
int64_t loader_short_batch(const struct loader *l);
/* Continues at batch `index` of `epoch`. If that is the next batch already, batches decoded in
 * advance are kept. After the last batch of an epoch the next epoch begins. */
int loader_seek(struct loader *l, int64_t epoch, int64_t index);
/* The next batch, valid until the next call; blocks until decoded. Decode errors arrive here. */
int loader_next(struct loader *l, const struct batch **b);
/* Identifies a sample of the batch that loader_next returned last. place: the number of samples of
 * the epoch before it (batch.first and on). Result: the sample's number in the set, which of its
 * windows, and the number of the sample that it is blended with (-1: none). */
struct loader_sample {
	int64_t index, window, partner;
};
struct loader_sample loader_sample(const struct loader *l, int64_t place);
/* Seconds the caller has waited in loader_next so far. */
double loader_wait_seconds(const struct loader *l);

#endif
