#!/bin/sh
# Measures this bundle's server on this machine, through HTTP and over loopback: time to the first audio byte, as a client
# sees it, and the rest of what `npm run stress` tells. Needs nothing but libc and libstdc++.
# The GPU's codes beside the CPU's: ./node --import tsx server/cli/eval.ts greedy --model FOLDER, in this folder.
set -eu

usage() {
  cat <<'END'
Usage: ./run.sh [--device cuda] [--concurrency 1,16,64] [--seconds 10] [--processes N] [--real-time] [--model FOLDER] [--json FILE]

  --device NAME          auto, cpu, cuda or cuda:N (cuda)
  --concurrency N,N,...  requests at once, each followed by the next (1,16,64)
  --seconds N            how long each step takes new requests (10)
  --processes N          processes of clients, which share the processor with the server (1)
  --real-time            clients at the speech socket that hear no faster than one does
  --model FOLDER         a checkpoint; without it, the full-size model with random weights, which are made first
  --json FILE            where the figures go (server.json)
END
  exit "$1"
}

device=cuda concurrency=1,16,64 seconds=10 processes=1 model= json=server.json clients="--target http"
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage 0 ;;
    --real-time) clients="--target ws --real-time-readers" && shift ;;
    --device | --concurrency | --seconds | --processes | --model | --json)
      [ $# -ge 2 ] || usage 2 >&2
      eval "${1#--}=\$2"
      shift 2
      ;;
    *) usage 2 >&2 ;;
  esac
done

absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
json=$(absolute "$json")
[ -z "$model" ] || model=$(absolute "$model")
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
typescript() { ./node --import tsx "$@"; }

if [ -z "$model" ]; then
  model=$work/model
  name="moss-tts-nano, random weights"
  typescript server/cli/model.ts random moss-tts-nano -o "$model" >&2
else
  name=$model
fi
# All clients come from one address.
printf 'served_model_names: ["%s"]\nws: { max_sessions_per_client: 4096 }\n' "$name" >"$work/deploy.yaml"

# Room for as many as are measured at once, so that nobody waits for a place.
most=$(echo "$concurrency" | tr , '\n' | sort -n | tail -n 1)
export SONANT_DEVICE="$device" SONANT_MAX_NUM_SEQS="$most" SONANT_VOICES_DIR="$work/voices"
typescript server/cli/stress.ts --config "$work/deploy.yaml" --model "$model" \
  $clients --processes "$processes" --warmup 4 --shape levels --concurrency "$concurrency" --step-seconds "$seconds" --report "$json"
