#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# python.sh SOURCE_ROOT - Python sources pass mypy and flake8; what the project ships and its scripts are typed throughout.
# The package weftlab and its tests have a check of their own (tests/weftlab/check.sh).
cd "$1" || exit 1
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
failed=0
# One program at a time: two programs may both have a module of the same name beside them.
for f in $(git ls-files -co --exclude-standard 'scripts/*.py' 'apps/*.py' ':!apps/weftlab'); do
	mypy --strict --no-error-summary --cache-dir "$cache" "$f" || failed=1
done
# shellcheck disable=SC2046
mypy --no-error-summary --cache-dir "$cache" --scripts-are-modules \
	$(git ls-files -co --exclude-standard 'tests/*.py' ':!tests/weftlab') || failed=1
# E203: the space that formatters put before the colon of a slice.
# shellcheck disable=SC2046
flake8 --max-line-length 130 --extend-ignore E203 $(git ls-files -co --exclude-standard '*.py') || failed=1
exit $failed
