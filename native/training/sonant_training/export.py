"""Writes the product files: BF16 safetensors, config.json files and the tokenizer, in the published layout.

OUT/codec/{config.json,model.safetensors}, OUT/lm/{config.json,model.safetensors,tokenizer.model}. Averaged weights are
preferred. Usage: python3 -m sonant_training.export --out DIR [--codec codec_b.pt] [--lm lm.pt --tokenizer FILE]
"""
from __future__ import annotations

import argparse
import json
import os
import shutil

import torch

from .codec import Codec
from .tensors import write_safetensors


def codec_weights(state):
    """State dict of a checkpoint, with the averaged decoder where there is one."""
    model = Codec(state["cfg"])
    model.load_state_dict(state["model"])
    if "ema" in state:
        with torch.no_grad():
            for p, e in zip(model.decoder.parameters(), state["ema"]):
                p.copy_(e)
    model.tie_channels()
    return model.state_dict()


def write(folder, config, tensors):
    os.makedirs(folder, exist_ok=True)
    json.dump(config, open(f"{folder}/config.json", "w"), indent=1)
    write_safetensors(f"{folder}/model.safetensors", tensors, dict(format="pt"))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--codec")
    ap.add_argument("--lm")
    ap.add_argument("--tokenizer")
    ap.add_argument("--discriminators", help="also write the discriminators of --codec to this file")
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    if a.codec:
        st = torch.load(a.codec, map_location="cpu")
        write(f"{a.out}/codec", st["cfg"], codec_weights(st))
        if a.discriminators:
            write_safetensors(a.discriminators, st["discs"])
    if a.lm:
        st = torch.load(a.lm, map_location="cpu")
        write(f"{a.out}/lm", st["cfg"], st["ema"])
        if a.tokenizer:
            shutil.copy(a.tokenizer, f"{a.out}/lm/tokenizer.model")


if __name__ == "__main__":
    main()
