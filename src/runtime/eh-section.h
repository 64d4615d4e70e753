/*
 * eh-section.h - .eh_frame from a file, for programs that do not say where it is in memory
 *
 * Static programs, mostly: their linker is not asked for a header.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_EH_SECTION_H
#define RUNTIME_EH_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__section {
	uint8_t *bytes; /* free with sonde__unmap() */
	size_t n;
	uint64_t address; /* in the file's own terms */
};

/* Reads at most 'max' bytes; false if there is no such section, or the file makes no sense. */
bool sonde__eh_section_read(const char *path, size_t max, struct sonde__section *s);

#endif /* RUNTIME_EH_SECTION_H */
