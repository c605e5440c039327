#!/usr/bin/env bash
# Brings the working copy into a state in which it can be built: the right Node, the packages of the lock file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v node >/dev/null; then
  echo "Node.js is missing: version 20.19 or newer is needed" >&2
  exit 1
fi
node -e '
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) process.exit(0);
  console.error(`Node.js ${process.versions.node} is too old: 20.19 or newer is needed`);
  process.exit(1);
'

# npm writes this file last, so that a cut installation is done again.
installed=node_modules/.package-lock.json
if [ ! -f "$installed" ] || [ package-lock.json -nt "$installed" ]; then
  echo "installing packages"
  npm ci --no-audit --no-fund --loglevel=error
  touch "$installed"
fi
