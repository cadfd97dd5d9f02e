"""Measures a checkpoint on held-out sentences: word errors, stopping, length, level and the patch-rate lines.

For every voice the sentences are spoken once, nothing is picked. Judges: pocketsphinx (general English, at 16 kHz) and
this package's recogniser. With teacher shards (teachers heldout) it also measures the teachers and the codec alone.
What ships is measured by `npm run eval -- voice` with its own engine; the recogniser needs PyTorch and judges only here.
Usage: python3 -m sonant_training.evaluate --model DIR --sentences heldout.json --out DIR [--teachers DIR]
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import subprocess
import tempfile

import numpy as np
import torch

from .audio import write_wav
from .codec import read_codec
from .generate import generate
from .lm import MossLM
from .losses import line_energy
from .prompts import Template, build_prompt
from .recogniser import Recogniser, normal, rates
from .shards import read_shard
from .speakers import speakers
from .tensors import FRAME_RATE, HOP, RATE, read_safetensors


def recommended(folder):
    """The sampling of the folder's sonant.json as arguments of `generate`."""
    s = json.load(open(f"{folder}/sonant.json"))["sampling"]
    return dict(temperature=s["audio_temperature"], top_k=s["audio_top_k"], top_p=s["audio_top_p"],
                text_temperature=s["text_temperature"])


def load_product(folder):
    """A folder with codec/, lm/ and voices/ -> (codec, language model, token encoder, {voice: preset})."""
    import sentencepiece as spm
    codec = read_codec(f"{folder}/codec")
    lm = MossLM(json.load(open(f"{folder}/lm/config.json")))
    lm.load_state_dict(read_safetensors(f"{folder}/lm/model.safetensors"))
    sp = spm.SentencePieceProcessor(model_file=f"{folder}/lm/tokenizer.model")
    voices = {v["name"]: v for v in (json.load(open(p)) for p in sorted(glob.glob(f"{folder}/voices/*.json")))}
    return codec, lm.eval(), sp.encode, voices


def sphinx(waves):
    """Float arrays at 48 kHz -> lists of words, by pocketsphinx; None where it is not installed."""
    from scipy.signal import resample_poly
    out = []
    with tempfile.TemporaryDirectory() as tmp:
        for x in waves:
            pad = np.zeros(4800, np.float32)
            write_wav(f"{tmp}/a.wav", resample_poly(np.concatenate((pad, x, pad)), 1, 3), 16000)
            try:
                r = subprocess.run(["pocketsphinx_continuous", "-infile", f"{tmp}/a.wav", "-logfn", "/dev/null"],
                                   capture_output=True, text=True)
            except FileNotFoundError:
                return None
            out.append(normal(r.stdout))
    return out


def longest_silence(x, floor=0.004):
    """Seconds of the longest quiet stretch between two loud ones."""
    e = np.sqrt((x[:len(x) // 480 * 480].reshape(-1, 480) ** 2).mean(1))
    loud = np.nonzero(e > floor)[0]
    return 0.0 if len(loud) < 2 else float((np.diff(loud).max() - 1) * 0.01)


def speak(codec, lm, encode, codes, texts, batch=10, **sampling):
    """-> (list of (frames, 16) codes, stop flags, list of mono waves)."""
    template = Template(encode)
    prompts = [build_prompt(template, encode(t), codes) for t in texts]
    out, stops = [], []
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    made = [None] * len(texts)
    for k in range(0, len(order), batch):
        g = order[k:k + batch]
        c, d = generate(lm, [prompts[i] for i in g], max_frames=220, **sampling)
        for i, x, y in zip(g, c, d):
            made[i] = (x, y)
    waves = [codec.decode(c.t()[:, None])[0, 0].numpy() if len(c) else np.zeros(HOP, np.float32) for c, _ in made]
    out, stops = [c for c, _ in made], [d for _, d in made]
    return out, stops, waves


def judge(waves, texts, recogniser):
    refs = [normal(t) for t in texts]
    row = {}
    heard = sphinx(waves)
    if heard is not None:
        row["ps_wer"] = round(100 * rates(refs, heard)[0], 1)
    if recogniser is not None:
        wer, cer = rates(refs, recogniser.transcribe(waves, batch=8))
        row["ctc_wer"], row["ctc_cer"] = round(100 * wer, 1), round(100 * cer, 1)
    return row


def teacher_waves(folder, name, texts):
    """{text: wave} of one voice's held-out shard."""
    path = f"{folder}/held_{name}.i16"
    if not os.path.exists(path):
        return {}
    x, meta = read_shard(path)
    out, at = {}, 0
    for _, t, n in meta:
        if t in texts:
            out[t] = x[at:at + n].astype(np.float32) / 32768
        at += n
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--model", required=True)
    ap.add_argument("--sentences", required=True, help="JSON list of {text, set}")
    ap.add_argument("--set", default="interface")
    ap.add_argument("--limit", type=int, default=30)
    ap.add_argument("--voices", help="comma-separated; default: all presets")
    ap.add_argument("--recogniser", help="recogniser.safetensors")
    ap.add_argument("--teachers", help="folder with held_NAME shards")
    ap.add_argument("--wavs", type=int, default=0)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    torch.manual_seed(1)
    codec, lm, encode, voices = load_product(a.model)
    sampling, recogniser = recommended(a.model), None
    if a.recogniser:
        recogniser = Recogniser()
        recogniser.load_state_dict(read_safetensors(a.recogniser))
    texts = [s["text"] for s in json.load(open(a.sentences)) if s["set"] == a.set][:a.limit]
    report = {}
    for name in (a.voices.split(",") if a.voices else voices):
        row = report[name] = {}
        real = teacher_waves(a.teachers, name, texts) if a.teachers else {}
        if real:
            row["teacher"] = judge(list(real.values()), list(real), recogniser)
            again = [codec.decode(codec.encode(torch.from_numpy(x)[None, None].expand(1, 2, -1)))[0, 0, :len(x)].numpy()
                     for x in real.values()]
            row["codec"] = judge(again, list(real), recogniser)
            lines = [(line_energy(torch.from_numpy(y)[None]).mean(), line_energy(torch.from_numpy(x)[None]).mean())
                     for x, y in zip(real.values(), again)]
            row["codec"]["lines_db"] = round(float(np.mean([10 * np.log10(float(y / x)) for y, x in lines])), 1)
        codes, stops, waves = speak(codec, lm, encode, np.array(voices[name]["codes"]), texts, **sampling)
        row["speech"] = judge(waves, texts, recogniser)
        seconds = [len(c) / FRAME_RATE / max(1, len(t)) for c, t in zip(codes, texts)]
        row["stops"] = round(100 * float(np.mean(stops)), 1)
        row["sensible_length"] = round(100 * float(np.mean([0.04 < s < 0.16 for s in seconds])), 1)
        row["longest_silence_s"] = round(max(longest_silence(w) for w in waves), 2)
        row["level_dbfs"] = round(float(20 * np.log10(np.mean([np.sqrt((w ** 2).mean()) for w in waves]) + 1e-9)), 1)
        for i in range(min(a.wavs, len(waves))):
            write_wav(f"{a.out}/{name}_{i:02d}.wav", waves[i], RATE)
        print(name, json.dumps(row), flush=True)
        json.dump(report, open(f"{a.out}/report_{a.set}.json", "w"), indent=1)


if __name__ == "__main__":
    main()
