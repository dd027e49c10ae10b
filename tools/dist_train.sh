#!/usr/bin/env bash
# Train on several GPUs, or without a GPU in several processes:
#   tools/dist_train.sh CONFIG PROCESSES [arguments of tools/train.py]
# Several machines: NNODES, NODE_RANK, MASTER_ADDR and PORT, as for torchrun.
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
config=$1 processes=$2
shift 2
# On one machine torchrun takes a free port, unless one is named.
if [ -n "${PORT:-}${MASTER_ADDR:-}" ] || [ "${NNODES:-1}" != 1 ]; then
    meeting=(--nnodes="${NNODES:-1}" --node_rank="${NODE_RANK:-0}"
             --master_addr="${MASTER_ADDR:-127.0.0.1}" --master_port="${PORT:-29500}")
else
    meeting=(--standalone)
fi
exec "${PYTHON:-python}" -m torch.distributed.run "${meeting[@]}" \
    --nproc_per_node="$processes" \
    "$(dirname "$0")/train.py" "$config" --launcher pytorch "$@"
