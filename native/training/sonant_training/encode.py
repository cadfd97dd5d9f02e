"""Turns audio shards into codes with a trained codec: one .npz part file for each batch of shards.

With --follow it keeps going until the folder says DONE, so that training data grow while the language model trains.
A share of the utterances is encoded a second time from a spoiled recording; those codes serve as references only.
Part file: spk (U,), lens (U,), spoiled (U,) bool, codes (frames, 16) uint16, text (JSON list).
Usage: python3 -m sonant_training.encode --codec codec_a.pt|FOLDER --shards DIR --out DIR
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from .audio import spoil
from .codec import Codec, read_codec
from .shards import read_shard
from .tensors import half


def load_codec(path, device):
    """A trainer's checkpoint, or a folder with config.json and model.safetensors."""
    if os.path.isdir(path):
        return read_codec(path).to(device)
    st = torch.load(path, map_location=device)
    model = Codec(st["cfg"]).to(device)
    model.load_state_dict(st["model"])
    return model.eval()


@torch.no_grad()
def encode_flat(model, flat, off, n, device, seconds=1200, damage=False):
    """flat: int16 samples on the device; off, n: start and length of each utterance -> list of (frames, 16)."""
    order = np.argsort(n, kind="stable")
    out, i = [None] * len(n), 0
    while i < len(order):
        j = i
        while j < len(order) and (j - i + 1) * n[order[j]] < seconds * 48000:
            j += 1
        j = max(j, i + 1)
        g = order[i:j]
        frames = -(-n[g] // model.hop)
        top = int(-(-frames.max() // 10) * 10) * model.hop
        o, m = torch.from_numpy(off[g]).to(device), torch.from_numpy(n[g]).to(device)
        t = torch.arange(top, device=device)
        x = flat[(o[:, None] + t).clamp(max=len(flat) - 1)].float() / 32768 * (t[None] < m[:, None])
        if damage:
            x = spoil(x, m)
        with half(device):
            z = model.analyse(x[:, None].expand(-1, 2, -1))
        c = model.quantizer.encode(z.float()).permute(1, 2, 0).to(torch.int16).cpu().numpy().astype(np.uint16)
        for q, k, f in zip(g, c, frames):
            out[q] = k[:f]
        i = j
    return out


def encode_waves(model, waves, device):
    """waves: list of int16 arrays -> list of (frames, 16) codes."""
    n = np.array([len(w) for w in waves])
    flat = torch.from_numpy(np.concatenate(waves)).to(device)
    return encode_flat(model, flat, np.concatenate(([0], np.cumsum(n)[:-1])), n, device)


def encode_shards(model, paths, device, spoiled, rng):
    """-> dict of the part file's arrays."""
    spk, text, codes, bad = [], [], [], []
    with ThreadPoolExecutor(3) as ex:
        ahead = [ex.submit(read_shard, p) for p in paths[:24]]
        for k in range(0, len(paths), 12):
            got = [f.result() for f in ahead[:12]]
            ahead = ahead[12:] + [ex.submit(read_shard, p) for p in paths[k + 24:k + 36]]
            flat = torch.cat([torch.from_numpy(x).to(device) for x, _ in got])
            meta = [u for _, m in got for u in m]
            n = np.array([u[2] for u in meta])
            off = np.concatenate(([0], np.cumsum(n)[:-1]))
            spk += [u[0] for u in meta]
            text += [u[1] for u in meta]
            codes += encode_flat(model, flat, off, n, device)
            bad += [False] * len(meta)
            pick = np.nonzero((rng.random(len(n)) < spoiled) & (n > 48000))[0]
            if len(pick):
                spk += [meta[i][0] for i in pick]
                text += [meta[i][1] for i in pick]
                codes += encode_flat(model, flat, off[pick], n[pick], device, damage=True)
                bad += [True] * len(pick)
    return dict(spk=np.array(spk, np.int16), lens=np.array([len(c) for c in codes], np.int32),
                spoiled=np.array(bad), codes=np.concatenate(codes), text=np.array(json.dumps(text)))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--codec", required=True)
    ap.add_argument("--shards", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--wait", type=int, default=0, help="wait for the codec file to appear")
    ap.add_argument("--part", type=int, default=0)
    ap.add_argument("--parts", type=int, default=1)
    ap.add_argument("--follow", type=int, default=0, help="go on until the shard folder holds DONE; then write END")
    ap.add_argument("--min-shards", type=int, default=120, help="with --follow: new shards that make a part file")
    ap.add_argument("--max-shards", type=int, default=500, help="with --follow: most shards in a part file")
    ap.add_argument("--first", type=int, default=160, help="with --follow: shards in the first part file")
    ap.add_argument("--spoiled", type=float, default=0.12)
    ap.add_argument("--delete", type=int, default=0, help="remove encoded shards")
    a = ap.parse_args()
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    torch.zeros(1, device=dev)
    while a.wait and not os.path.exists(a.codec):
        time.sleep(0.2)
    model, rng = load_codec(a.codec, dev), np.random.default_rng(a.part)
    torch.manual_seed(a.part)
    os.makedirs(a.out, exist_ok=True)
    seen, k = set(), 0
    while True:
        last = not a.follow or os.path.exists(f"{a.shards}/DONE")
        paths = [p for p in sorted(glob.glob(f"{a.shards}/*.i16")) if p not in seen]
        paths = [p for p in paths if sum(os.path.basename(p).encode()) % a.parts == a.part]
        if paths and (last or k == 0 or len(paths) >= a.min_shards):
            t0 = time.time()
            if a.follow:  # small parts, so that training can start
                paths = rng.permutation(paths)[:a.first if k == 0 else a.max_shards].tolist()
            part = encode_shards(model, paths, dev, a.spoiled, rng)
            name = f"{a.out}/part{k:03d}_{a.part}"
            np.savez(name + ".tmp.npz", **part)
            os.rename(name + ".tmp.npz", name + ".npz")
            print(f"encoded {len(part['lens'])} utterances, {part['lens'].sum() / 12.5 / 3600:.1f} h in "
                  f"{time.time() - t0:.0f}s", flush=True)
            k += 1
            seen.update(paths)
            if a.delete:
                for p in paths:
                    os.unlink(p)
        elif last:
            break
        else:
            time.sleep(1)
    open(f"{a.out}/END{a.part}", "w").close()


if __name__ == "__main__":
    main()
