"""Makes the preset voices: one prompt sentence per voice, spoken by its teacher (or the reader), encoded.

Usage: python3 -m sonant_training.presets --codec DIR --human DIR --out DIR
"""
from __future__ import annotations

import argparse
import json
import os

import numpy as np
import torch

from .audio import read_wav, tidy, to_48k
from .codec import read_codec
from .pitch import track
from .speakers import READER, speakers
from .teachers import reader_clips, run, scratch, sentence_case, synthesise
from .tensors import FRAME_RATE, RATE

ABOUT = {
    "clara": ("US English, clear and even", "female"), "nora": ("US English, low and calm", "female"),
    "emma": ("US English, lively", "female"), "mia": ("US English, light and young", "female"),
    "ryan": ("US English, steady", "male"), "otto": ("US English, deep and slow", "male"),
    "angus": ("Scottish English, warm", "male"), "kal": ("US English, synthetic, crisp", "male"),
    READER: ("US English, after a human reader, natural melody", "female"),
}
PROMPTS = ("The weather in London is sunny, and the next train leaves in twenty minutes.",
           "I put the old letters on the kitchen table, and nobody has read them yet.",
           "Please check the number on your ticket, then wait for the green light.",
           "Your brother called this morning and asked for the name of that little cafe.",
           "The children found seven blue stones and a small wooden boat.",
           "We will be home before nine, so please leave the front door open.")
READER_CLIPS = ("LJ001-0043", "LJ002-0007", "LJ001-0084", "LJ002-0142", "LJ001-0123", "LJ002-0023")
CHOSEN = dict(clara=2, nora=0, emma=4, mia=2, ryan=0, otto=2, angus=0, kal=0, iris=1)  # which prompt sentence or clip


def median_pitch(x):
    """Median pitch in Hz of mono 48 kHz speech over what is voiced, 0 where nothing is."""
    hz = track(x)
    return round(float(np.median(hz[hz > 0])), 1) if (hz > 0).any() else 0.0


def reader_wave(folder, clip):
    with scratch() as tmp:
        run(["opusdec", "--quiet", "--rate", "48000", f"{folder}/{clip}.opus", f"{tmp}/a.wav"])
        x, r = read_wav(f"{tmp}/a.wav")
    return tidy(to_48k(x, r))


def write_preset(codec, sp, name, text, x, out):
    codes = codec.encode(torch.from_numpy(x.astype(np.float32))[None, None].expand(1, 2, -1))[:, 0].t()
    about, gender = ABOUT[sp["name"]]
    pitch = median_pitch(x)
    json.dump(dict(name=name, description=about, language="en", gender=gender, pitch=pitch,
                   frame_rate=FRAME_RATE, n_vq=int(codes.shape[1]), prompt_text=text, codes=codes.tolist()),
              open(f"{out}/{name}.json", "w"))
    print(name, f"{len(x) / RATE:.1f} s, {pitch} Hz", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--codec", required=True, help="folder with config.json and model.safetensors")
    ap.add_argument("--human", required=True)
    ap.add_argument("--candidates", type=int, default=0, help="write NAME-0.json, NAME-1.json ... to choose from")
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    codec = read_codec(a.codec)
    for sp in [s for s in speakers() if s["preset"]]:
        name = sp["name"]
        for k in range(a.candidates) if a.candidates else [CHOSEN[name]]:
            if name == READER:
                text = sentence_case(dict(reader_clips(a.human))[READER_CLIPS[k]])
                x = reader_wave(a.human, READER_CLIPS[k])
            else:
                text = PROMPTS[k]
                x = next(x for _, x in synthesise(sp, [text]))
            write_preset(codec, sp, f"{name}-{k}" if a.candidates else name, text, x, a.out)


if __name__ == "__main__":
    main()
