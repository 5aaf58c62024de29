/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that a test has made. */
#ifndef WEFT_TEST_TEMP_DIR_H
#define WEFT_TEST_TEMP_DIR_H

#include <ftw.h>
#include <stdio.h>

static inline int temp_dir_remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

/* Removes a directory with all that is in it. Links are removed, not followed. 0 or -1 with errno. */
static inline int temp_dir_remove(const char *path)
{
	enum { DIRS_OPEN = 16 };
	return nftw(path, temp_dir_remove_entry, DIRS_OPEN, FTW_DEPTH | FTW_PHYS);
}

#endif
