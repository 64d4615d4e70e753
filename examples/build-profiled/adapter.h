/*
 * adapter.h - what profile.c and release.c both have; the Makefile takes one of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ADAPTER_H
#define ADAPTER_H

void start_profiler(void);

#endif /* ADAPTER_H */
