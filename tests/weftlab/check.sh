#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check.sh SOURCE_ROOT - types and style of the Python package, as far as mypy and flake8 are there; 77 without both.
cd "$1" || exit 1
command -v mypy >/dev/null || command -v flake8 >/dev/null || exit 77
failed=0
if command -v mypy >/dev/null; then
	MYPYPATH=apps/weftlab:tests/weftlab mypy --cache-dir=/dev/null --config-file apps/weftlab/pyproject.toml \
		apps/weftlab/weftlab tests/weftlab/*.py || failed=1
fi
if command -v flake8 >/dev/null; then
	flake8 --max-line-length 120 apps/weftlab tests/weftlab || failed=1
fi
exit $failed
