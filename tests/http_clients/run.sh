#!/usr/bin/env bash
# Runs the tests of one file with the packages that package-lock.json names. Exit code 77: there is
# no node of version 20 or later, or the packages are not installed (npm ci in this folder).
set -euo pipefail
cd "$(dirname "$0")"
command -v node >/dev/null || exit 77
[ "$(node --print 'process.versions.node.split(".")[0]')" -ge 20 ] || exit 77
[ -d node_modules/openai ] || exit 77
exec node --test "$1"
