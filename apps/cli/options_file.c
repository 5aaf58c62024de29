/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that may be files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "options_int.h"

/* A name that looks like a path, or exists, is a file; everything else is a preset or pattern. */
bool options_is_file(const char *name)
{
	FILE *f = strchr(name, ':') && !strchr(name, '/') ? NULL : fopen(name, "r");
	if (f)
		fclose(f);
	return f || strchr(name, '/');
}

int options_topology(const char *spec, uint64_t link_bps, uint64_t preset_bps, struct weft_topo *topo,
		     struct weft_err *err)
{
	int rc = 0;
	if (options_is_file(spec)) {
		size_t len;
		char *text = file_read(spec, &len, &rc, err);
		if (text)
			rc = weft_topo_parse(text, len, spec, topo, err);
		free(text);
	} else {
		rc = weft_topo_preset(spec, link_bps ? link_bps : preset_bps, topo, err);
	}
	if (!rc && link_bps)
		weft_topo_set_bps(topo, link_bps);
	return rc;
}
