/*
 * output-private.h - what output.c keeps and proto.c writes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_OUTPUT_PRIVATE_H
#define RUNTIME_OUTPUT_PRIVATE_H

#include "runtime/buf.h"
#include "runtime/output.h"

struct text {
	uint32_t at, n; /* in 'bytes' */
};

struct label {
	uint32_t key, text, unit, unused; /* texts by number */
	int64_t number;
};

struct sample {
	uint32_t stack, nlabels;
	size_t labels; /* the first of them */
	int64_t values[SONDE__TYPES];
};

struct writer;

struct sonde__output {
	struct sonde__output_head head;
	bool difference;
	uint64_t left_out; /* samples there was no memory for */
	struct sonde__buf samples, labels, strings, bytes;
	struct sonde__buf comments; /* numbers of texts */
	struct sonde__index by_stack, by_text;
	struct writer *stream; /* of those with a sink */
};

/* The number of a text; 0, that of the empty one, if there is no room. */
uint32_t sonde__output_string(struct sonde__output *o, const char *text);
const struct text *sonde__output_text(const struct sonde__output *o, uint32_t number);
struct sample *sonde__output_sample(const struct sonde__output *o, size_t i);
const struct label *sonde__output_label(const struct sonde__output *o, size_t i);

/* proto.c: begins, goes on, and forgets what is written sample by sample. */
bool sonde__stream_open(struct sonde__output *o);
void sonde__stream_sample(struct sonde__output *o, const struct sample *s);
void sonde__stream_close(struct sonde__output *o);

#endif /* RUNTIME_OUTPUT_PRIVATE_H */
