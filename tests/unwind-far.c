/*
 * unwind-far.c - a library of its own for unwind-subject.c, so that calls go through linkage tables
 *
 * SPDX-License-Identifier: Apache-2.0
 */
int subject_far(int n, int (*back)(int));

__attribute__((noinline)) static int near(int n, int (*back)(int))
{
	return back(n) + back(n + 1);
}

int subject_far(int n, int (*back)(int))
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += near(i, back);
	return s;
}
