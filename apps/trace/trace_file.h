/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of flight recorders: which there are, and copies of them. */
#ifndef WEFT_TRACE_FILE_H
#define WEFT_TRACE_FILE_H

#include <stdbool.h>

#include "weft/err.h"
#include "weft/recorder.h"

/* A copy of a recorder's file. */
struct trace_file {
	char path[256];
	bool runs;   /* its process writes it still */
	void *bytes; /* ours */
	size_t size;
	uint8_t later[WEFT_RECORDER_HEAD_BYTES]; /* its beginning, read after the rest */
	struct weft_recording about;
};

struct trace_files {
	struct trace_file *files; /* ours */
	size_t count;
};

/* Copies the file at `path`. -ENOENT, -EINVAL when it is no recording, or another negative errno. */
int trace_file_read(const char *path, struct trace_file *out, struct weft_err *err);
void trace_file_free(struct trace_file *f);

/* Copies all files in `dir` of a process, 0: of all processes; files of other users are left out, unless we are root.
 * -ENOENT when there is none, or another negative errno. */
int trace_files_find(const char *dir, uint32_t pid, struct trace_files *out, struct weft_err *err);
void trace_files_free(struct trace_files *all);

#endif
