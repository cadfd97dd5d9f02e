#!/bin/sh
# Measures the CUDA backend on this machine and writes what it found to a folder: parity with the fixtures, company that
# changes no bit, how nearly tied the starter's other codes are, recovery from a fault, a frame of the language model and of
# the codec by batch, listeners in real time through the whole engine, the same model in PyTorch where that is installed,
# and the memory checker's word on the fixtures.
set -eu

usage() {
  cat <<'END'
Usage: native/bench/on-gpu.sh OUT [--build FOLDER] [--batches N,..] [--streams N,..] [--seconds N] [--long N,..] [--skip-build]

  OUT              folder for the results, one file each
  --build FOLDER   where the executables are, or are built (native/build-gpu)
  --batches N,..   sequences at a time (1,2,4,8,16,32,64,128,256,512)
  --streams N,..   listeners at a time (1,4,16,64,256,512)
  --seconds N      of sound that each of them hears (10)
  --long N,..      listeners for a minute (512)
  --skip-build     take the executables as they are
END
  exit "$1"
}

[ $# -gt 0 ] || usage 2 >&2
case $1 in -h | --help) usage 0 ;; esac
out=$1 build=native/build-gpu batches=1,2,4,8,16,32,64,128,256,512 streams=1,4,16,64,256,512 seconds=10 long=512 builds=yes
shift
while [ $# -gt 0 ]; do
  case $1 in
    --skip-build) builds=no && shift ;;
    --build | --batches | --streams | --seconds | --long)
      [ $# -ge 2 ] || usage 2 >&2
      eval "${1#--}=\$2"
      shift 2
      ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
done

mkdir -p "$out"
if [ $builds = yes ]; then
  cmake -S native -B "$build" -DSONANT_CUDA=native -DCMAKE_BUILD_TYPE=Release >"$out/build.log"
  cmake --build "$build" --parallel --target sonant_bench sonant_parity sonant_model sonant_cuda >>"$out/build.log"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)

# One JSON object a file: what was run, on what, when, and what it said.
record() {
  name=$1
  shift
  echo "$name" >&2
  printf '{"date":"%s","card":"%s","command":"%s","result":' "$(date -u +%F)" "$card" "$(echo "$*" | sed "s#$work#RANDOM#g; s#$build/##g")" >"$out/$name.json"
  "$@" >>"$out/$name.json"
  echo '}' >>"$out/$name.json"
}

for precision in fp32 bf16; do
  {
    echo "$(date -u +%F), $card: sonant_parity native/test/fixtures --device cuda --precision $precision"
    "$build/sonant_parity" native/test/fixtures --device cuda --precision $precision
  } >"$out/parity-$precision.txt"
done
for part in lm codec; do "$build/sonant_model" random native/shapes/moss-tts-nano/$part "$work/$part" >&2; done
model="--lm $work/lm --codec $work/codec --device cuda --json"
for precision in bf16 fp32; do
  {
    echo "$(date -u +%F), $card: sonant_parity --company --lm RANDOM/lm --codec RANDOM/codec --device cuda --precision $precision"
    "$build/sonant_parity" --company --lm "$work/lm" --codec "$work/codec" --device cuda --precision $precision
  } >"$out/company-$precision.txt"
done
starter=native/models/starter/lm prompts=native/test/fixtures/starter-prompts.json
if [ -e $starter ]; then
  for precision in bf16 fp32; do
    {
      echo "$(date -u +%F), $card: sonant_parity --greedy --lm $starter --prompts $prompts --device cuda --precision $precision"
      "$build/sonant_parity" --greedy --lm $starter --prompts $prompts --device cuda --precision $precision
    } >"$out/greedy-$precision.txt"
  done
fi
{
  echo "$(date -u +%F), $card: sonant_parity --recovery --lm RANDOM/lm --codec RANDOM/codec --device cuda --precision bf16"
  "$build/sonant_parity" --recovery --lm "$work/lm" --codec "$work/codec" --device cuda --precision bf16
} >"$out/recovery.txt"
record batches "$build/sonant_bench" $model --batches "$batches"
record streams "$build/sonant_bench" $model --streams "$streams" --seconds "$seconds"
record minute "$build/sonant_bench" $model --streams "$long" --seconds 60
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then PYTHONPATH=native/training record pytorch python3 native/bench/peer.py --batches 1,32; fi
if command -v compute-sanitizer >/dev/null; then
  {
    echo "$(date -u +%F), $card: compute-sanitizer --tool memcheck sonant_parity native/test/fixtures --device cuda --precision bf16"
    compute-sanitizer --tool memcheck --error-exitcode 9 "$build/sonant_parity" native/test/fixtures --device cuda --precision bf16
  } >"$out/memcheck.txt"
fi
