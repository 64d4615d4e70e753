/*
 * output.h - profiles as bytes: profile.proto, named, gzipped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_OUTPUT_H
#define RUNTIME_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__TYPES = 4, SONDE__LABELS = 16 };

struct sonde__value_type {
	const char *type, *unit;
};

/* A label has a text, or a number. */
struct sonde__label {
	const char *key, *text;
	int64_t number;
	const char *unit;
};

/* A profile in the making; all memory is mapped, and bounded. */
struct sonde__output;

struct sonde__output_head {
	struct sonde__value_type types[SONDE__TYPES];
	size_t ntypes;
	struct sonde__value_type period_type;
	int64_t period;
	const char *default_type; /* or NULL */
	uint64_t time, duration;  /* ns */
	bool symbolize;           /* function names from symbol tables */
	/*
	 * If set, samples are written when they are added, and it gets the profile gzipped and in
	 * pieces: little memory is needed however many there are, but equal ones are not added up,
	 * and sonde__output_finish() has nothing to return.  False: it failed.
	 */
	bool (*sink)(const void *bytes, size_t n);
	bool hide_allocator; /* leave out the functions that allocate, at the leaves */
};

struct sonde__output *sonde__output_new(const struct sonde__output_head *head);
/* Adds to the sample with that stack and those labels. */
void sonde__output_add(struct sonde__output *o, uint32_t stack, const int64_t *values,
		       const struct sonde__label *labels, size_t nlabels);
void sonde__output_comment(struct sonde__output *o, const char *text);
/* p1 - p0, as Go computes deltas: 'o' becomes the difference to 'before', which is consumed. */
void sonde__output_subtract(struct sonde__output *o, struct sonde__output *before);
/* For those with a sink: the last piece.  False: there was no memory, or the sink failed. */
bool sonde__output_drain(struct sonde__output *o);
/* The gzipped bytes, in mapped memory; NULL when there is none. */
uint8_t *sonde__output_finish(struct sonde__output *o, size_t *n, size_t *mapped);
void sonde__output_free(struct sonde__output *o);

/* The name of the function at 'pc' from the symbol tables, or NULL; lives as long as its module. */
const char *sonde__name(uint64_t pc, uint64_t *start);
/* Closes the files that names were read from; after each profile. */
void sonde__names_close(void);
size_t sonde__names_bytes(void); /* of memory that symbol tables take */

/*
 * A section of a module's file, or of its debug file, in mapped memory with a zero behind it; NULL
 * if there is none, or it has more than 'max' bytes.
 */
struct sonde__module;
uint8_t *sonde__names_section(const struct sonde__module *m, const char *name, size_t max,
			      size_t *n, size_t *mapped);

/* The file of a module that has that section, or its debug file; NULL; valid until closed. */
struct sonde__binary;
const struct sonde__binary *sonde__names_binary(const struct sonde__module *m, const char *section);

/* The file and line of a place in memory, where there is debug information. */
struct sonde__line {
	const char *file; /* valid until the next sonde__lines_find() */
	uint32_t line, start_line;
};
/* Looks for all of them at once, and remembers. */
void sonde__lines_find(const uint64_t *pcs, size_t n);
/* What was found; false if nothing was. */
bool sonde__line(uint64_t pc, struct sonde__line *to);
size_t sonde__lines_bytes(void); /* of memory that lines take */

/* zlib's format; false if it does not give 'n' bytes. */
bool sonde__inflate(const void *packed, size_t npacked, void *to, size_t n);
/* gzip, level 1, with the header bytes of Go's; NULL when there is no memory. */
uint8_t *sonde__gzip(const void *data, size_t n, size_t *size, size_t *mapped);

#endif /* RUNTIME_OUTPUT_H */
