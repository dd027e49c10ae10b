#!/usr/bin/env bash
# Makes .venv with everything in requirements.txt, in the order that works.
# Does nothing when it is there already. PYTHON=... chooses the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=$(cat requirements.txt pyproject.toml setup.py tools/setup_env.sh | cksum)
stamp=.venv/installed
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

say() {
    printf '[setup %s] %s\n' "$(date +%T)" "$*"
}

python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
[ -n "$python" ] || fail 'no Python found; install Python 3.11 or set PYTHON=/path/to/python3.11'
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
    fail "cannot run $python; set PYTHON=/path/to/python3.11"
[ "$version" = 3.11 ] ||
    fail "$python is Python $version, the pinned packages are for 3.11; set PYTHON=/path/to/python3.11"
command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null ||
    fail "no C++ compiler found, mmcv's operators need one (Debian and Ubuntu: apt-get install g++)"

# pip warns at length where it is offered more than one index; errors still come through.
pip_install() {
    .venv/bin/python -m pip --disable-pip-version-check install --quiet --quiet "$@" ||
        fail "pip install $* failed, see above. If it was the network, run the command again."
}

say "making .venv with $python (Python $version)"
"$python" -m venv .venv || fail 'cannot make .venv; on Debian and Ubuntu: apt-get install python3-venv'

say 'step 1 of 3: torch and what builds mmcv (2 to 5 minutes, up to 3 GB to download)'
mapfile -t first < <(grep -oE '^(setuptools|wheel|ninja|psutil|numpy|torch|torchvision)==[^ ]+' requirements.txt)
pip_install "${first[@]}"

say 'step 2 of 3: OpenMMLab and the rest; the first time mmcv is compiled,'
say '             10 to 20 minutes on two cores, later pip has the wheel (1 minute)'
export MMCV_WITH_OPS=1
pip_install --no-build-isolation --requirement requirements.txt
.venv/bin/python -c 'import mmcv._ext' || fail "mmcv was built without its operators.
Remove pip's copy of the wheel and try again: .venv/bin/pip cache remove mmcv && rm -r .venv"

say 'step 3 of 3: mmqtvit itself'
pip_install --no-build-isolation --no-deps --editable .

echo "$wanted" >"$stamp"
say 'done'
