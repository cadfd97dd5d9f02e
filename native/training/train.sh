#!/bin/bash
# The whole recipe on one machine with two GPUs (or one: G1=0). Seconds are wall-clock budgets, counted from the start.
#   W work folder · READER folder with the public-domain clips · A codec phase A · B_END, L_END ends of decoder and
#   language model training · GEN seconds of data generation · WORKERS synthesis processes · PAUSES result of `pauses`
set -e
W=${W:-run}; A=${A:-900}; B_END=${B_END:-2400}; L_END=${L_END:-2700}; GEN=${GEN:-2400}; R=${R:-300}
WORKERS=${WORKERS:-14}; TOTAL=${TOTAL:-400000}; G0=${G0:-0}; G1=${G1:-1}
export PYTHONPATH=$(cd "$(dirname "$0")" && pwd) PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
mkdir -p "$W/shards"
py() { python3 -m sonant_training."$@"; }
[ -f "$W/texts.json" ] || py texts "$W/texts.json"
[ -f "$W/tokenizer.model" ] || py tokenizer "$W/texts.json" "$W/tokenizer"
T0=$(date +%s)
nice -n 10 python3 -m sonant_training.teachers generate --texts "$W/texts.json" --human "$READER" --out "$W/shards" ${PAUSES:+--pauses $PAUSES} \
  --workers "$WORKERS" --seconds "$GEN" --total "$TOTAL" > "$W/generate.log" 2>&1 &
CUDA_VISIBLE_DEVICES=$G0 py train_codec --shards "$W/shards" --out "$W/codec" --a-seconds "$A" --b-end-at $((T0 + B_END)) \
  --recogniser "$W/recogniser/recogniser.pt" ${RESUME_CODEC:+--resume $RESUME_CODEC} > "$W/codec.out" 2>&1 &
CODEC=$!
CUDA_VISIBLE_DEVICES=$G1 py recogniser --shards "$W/shards" --out "$W/recogniser" --seconds "$R" > "$W/recogniser.out" 2>&1 &
for k in 0 1 2; do  # codes follow the data; the language model takes in what appears
  CUDA_VISIBLE_DEVICES=$G1 py encode --codec "$W/codec/codec_a.pt" --wait 1 --shards "$W/shards" --out "$W/codes" \
    --follow 1 --delete 1 --part $k --parts 3 > "$W/encode$k.out" 2>&1 &
done
py teachers heldout --texts "$W/texts.json" --out "$W/held" --total 140 --workers 4
cp "$W"/shards_reader/* "$W/held/"
CUDA_VISIBLE_DEVICES=$G1 py encode --codec "$W/codec/codec_a.pt" --wait 1 --shards "$W/held" --out "$W/heldcodes" --spoiled 0
CUDA_VISIBLE_DEVICES=$G1 py train_lm --codes "$W/codes" --min-parts 3 --held "$W/heldcodes" --tokenizer "$W/tokenizer.model" \
  --out "$W/lm" --end-at $((T0 + L_END)) ${RESUME_LM:+--resume $RESUME_LM} || [ -f "$W/lm/LM_DONE" ]
wait $CODEC
py export --codec "$W/codec/codec_b.pt" --lm "$W/lm/lm.pt" --tokenizer "$W/tokenizer.model" --out "$W/product"
py presets --codec "$W/product/codec" --human "$READER" --out "$W/product/voices"
