#!/bin/bash
# The whole recipe on one machine with one GPU, or two (G1=1: recogniser, codes and language model on the second).
# Seconds are wall-clock budgets; END counts from the start.
#   W work folder · READER folder with the public-domain clips · PAUSES result of `pauses` · WORKERS synthesis processes
#   GEN seconds of data generation · R recogniser · A codec · END end of the language model
#   CODEC folder of a finished codec: only codes and the language model are made · RESUME_CODEC, RESUME_LM to go on
#   from, at some half of the rate
set -e
W=${W:-run}; GEN=${GEN:-2400}; R=${R:-130}; A=${A:-900}; END=${END:-2700}
WORKERS=${WORKERS:-14}; TOTAL=${TOTAL:-400000}; G0=${G0:-0}; G1=${G1:-0}
export PYTHONPATH=$(cd "$(dirname "$0")" && pwd) PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
mkdir -p "$W/shards"
py() { python3 -m sonant_training."$@"; }
[ -f "$W/texts.json" ] || py texts "$W/texts.json"
if [ -n "$RESUME_LM" ] && [ -f "$(dirname "$RESUME_LM")/tokenizer.model" ]; then  # the one that it was trained with
  cp "$(dirname "$RESUME_LM")/tokenizer.model" "$W/"
fi
[ -f "$W/tokenizer.model" ] || py tokenizer "$W/texts.json" "$W/tokenizer"
T0=$(date +%s)
nice -n 10 python3 -m sonant_training.teachers generate --texts "$W/texts.json" --human "$READER" --out "$W/shards" ${PAUSES:+--pauses $PAUSES} \
  --workers "$WORKERS" --seconds "$GEN" --total "$TOTAL" > "$W/generate.log" 2>&1 &
py teachers heldout --texts "$W/texts.json" --out "$W/held" --total 140 --workers 2 > "$W/heldout.log" 2>&1 &
HELD=$!
if [ -z "$CODEC" ]; then
  CUDA_VISIBLE_DEVICES=$G1 py recogniser --shards "$W/shards" --out "$W/recogniser" --seconds "$R" > "$W/recogniser.out" 2>&1 &
  [ "$G0" != "$G1" ] || wait $!
  CUDA_VISIBLE_DEVICES=$G0 py train_codec --shards "$W/shards" --out "$W/codec" --a-seconds "$A" --b-seconds 0 \
    --recogniser "$W/recogniser/recogniser.pt" ${RESUME_CODEC:+--resume $RESUME_CODEC --lr 4e-4} > "$W/codec.out" 2>&1
  py export --codec "$W/codec/codec_a.pt" --out "$W/product"
else
  mkdir -p "$W/product"
  cp -r "$CODEC" "$W/product/codec"
fi
wait $HELD
until ls "$W"/shards_reader/*.i16 > /dev/null 2>&1; do sleep 1; done
cp "$W"/shards_reader/* "$W/held/"
CUDA_VISIBLE_DEVICES=$G1 py encode --codec "$W/product/codec" --shards "$W/held" --out "$W/heldcodes" --spoiled 0
for k in 0 1; do  # codes follow the data; the language model takes in what appears
  CUDA_VISIBLE_DEVICES=$G1 py encode --codec "$W/product/codec" --shards "$W/shards" --out "$W/codes" --spoiled 0.25 \
    --follow 1 --delete 1 --part $k --parts 2 > "$W/encode$k.out" 2>&1 &
done
CUDA_VISIBLE_DEVICES=$G1 py train_lm --codes "$W/codes" --min-parts 4 --held "$W/heldcodes" --tokenizer "$W/tokenizer.model" \
  --out "$W/lm" --end-at $((T0 + END)) ${RESUME_LM:+--resume $RESUME_LM --lr 6e-4} || [ -f "$W/lm/LM_DONE" ]
py export --lm "$W/lm/lm.pt" --tokenizer "$W/tokenizer.model" --out "$W/product"
py presets --codec "$W/product/codec" --human "$READER" --out "$W/product/voices"
