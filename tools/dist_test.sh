#!/usr/bin/env bash
# Evaluate on several GPUs, or without a GPU in several processes:
#   tools/dist_test.sh CONFIG CHECKPOINT PROCESSES [arguments of tools/test.py]
# Several machines: NNODES, NODE_RANK, MASTER_ADDR and PORT, as for torchrun.
set -euo pipefail
if [ $# -lt 3 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
config=$1 checkpoint=$2 processes=$3
shift 3
# On one machine torchrun takes a free port, unless one is named.
if [ -n "${PORT:-}${MASTER_ADDR:-}" ] || [ "${NNODES:-1}" != 1 ]; then
    meeting=(--nnodes="${NNODES:-1}" --node_rank="${NODE_RANK:-0}"
             --master_addr="${MASTER_ADDR:-127.0.0.1}" --master_port="${PORT:-29500}")
else
    meeting=(--standalone)
fi
exec "${PYTHON:-python}" -m torch.distributed.run "${meeting[@]}" \
    --nproc_per_node="$processes" \
    "$(dirname "$0")/test.py" "$config" "$checkpoint" --launcher pytorch "$@"
