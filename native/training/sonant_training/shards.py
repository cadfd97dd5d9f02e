"""Speech on disk and on the device: shard files, the codec's audio pool, and its augmentation.

A shard is NAME.i16 (48 kHz mono int16, utterances back to back) plus NAME.json, a list of [speaker, text, samples].
"""
from __future__ import annotations

import glob
import json
import os
import random

import numpy as np

from .tensors import RATE


def write_shard(out, name, items):
    """items: list of (speaker id, text, float samples). The .i16 appears last and whole."""
    np.concatenate([(np.clip(x, -1, 1) * 32767).astype(np.int16) for *_, x in items]).tofile(f"{out}/{name}.tmp")
    json.dump([[sp, t, len(x)] for sp, t, x in items], open(f"{out}/{name}.json", "w"))
    os.rename(f"{out}/{name}.tmp", f"{out}/{name}.i16")


def read_shard(path):
    """-> (int16 samples, list of [speaker, text, samples])."""
    return np.fromfile(path, np.int16), json.load(open(path[:-4] + ".json"))


class Shards:
    """Incremental view of a shard folder."""

    def __init__(self, folder):
        self.folder, self.seen, self.rng = folder, set(), random.Random(0)

    def new(self, limit=None):
        """(path, samples, meta) of at most `limit` shards not seen before, in random order: names tell the kind."""
        paths = sorted(p for p in glob.glob(f"{self.folder}/*.i16") if p not in self.seen)
        self.rng.shuffle(paths)
        for p in paths:
            if limit is not None:
                if limit <= 0:
                    return
                limit -= 1
            self.seen.add(p)
            try:
                x, meta = read_shard(p)
            except FileNotFoundError:  # encoded and removed meanwhile
                continue
            yield p, x, meta


class Growing:
    """int16 samples on the device, filled from the front."""

    def __init__(self, hours, device):
        import torch
        self.torch, self.device = torch, device
        self.buf, self.n = torch.zeros(int(hours * 3600 * RATE), dtype=torch.int16, device=device), 0

    def add(self, x):
        """x: int16 array; False if there is no room left."""
        if self.n + len(x) > len(self.buf):
            return False
        self.buf[self.n:self.n + len(x)] = self.torch.from_numpy(x).to(self.device)
        self.n += len(x)
        return True

    def cut(self, count, length, generator=None):
        """Random segments, (count, length) float in -1..1."""
        t = self.torch
        o = (t.rand(count, generator=generator, device=self.device, dtype=t.float64) * (self.n - length - 1)).long()
        return self.buf[o[:, None] + t.arange(length, device=self.device)].float() / 32768


HUMAN_HOURS = 12.0


class AudioPool:
    """Audio from which the codec's random segments are cut; shards named human* have a share of their own."""

    def __init__(self, folder, device, hours=40.0, human_share=0.25):
        import torch
        self.torch, self.device, self.shards, self.share = torch, device, Shards(folder), human_share
        self.most, self.human, self.full = Growing(hours, device), Growing(min(hours, HUMAN_HOURS), device), False

    @property
    def hours(self):
        return (self.most.n + self.human.n) / RATE / 3600

    def refresh(self, limit=40):
        if self.full:
            return
        for p, x, _ in self.shards.new(limit):
            human = os.path.basename(p).startswith("human")
            if not (self.human if human else self.most).add(x) and not human:
                self.full = True

    def batch(self, count, length):
        """(count, length) float segments."""
        h = int(round(count * self.share)) if self.human.n > length + 1 else 0
        parts = [self.most.cut(count - h, length)] + ([self.human.cut(h, length)] if h else [])
        x = self.torch.cat(parts)
        return x[self.torch.randperm(count, device=self.device)]


SPEEDS = (0.75, 1.4)


def augment(x, length):
    """Random speed, colour, noise and gain. x: (B, > SPEEDS[1] * length) -> (B, length)."""
    import torch
    import torch.nn.functional as F
    b, dev = x.shape[0], x.device
    parts = []
    for chunk in x.chunk(4):
        s = 1.0 if torch.rand(()) < 0.5 else float(torch.empty(()).uniform_(*SPEEDS))
        n = int(length * s)
        c = chunk[:, :n]
        parts.append(c if n == length else
                     F.interpolate(c[:, None], size=length, mode="linear", align_corners=False)[:, 0])
    x = torch.cat(parts)
    k = max(1, b // 3)  # smooth random equaliser, finer at low frequencies
    f = torch.fft.rfft(x[:k])
    curve = F.interpolate(torch.randn(k, 1, 9, device=dev) * 3.0, size=f.shape[1], mode="linear", align_corners=True)
    pos = (torch.linspace(0, 1, f.shape[1], device=dev).sqrt() * (f.shape[1] - 1)).long()
    x = torch.cat((torch.fft.irfft(f * 10 ** (curve[:, 0, pos] / 20), n=length), x[k:]))
    m = max(1, b // 8)
    noise = 10 ** (torch.empty(m, 1, device=dev).uniform_(-70, -42) / 20)
    x = torch.cat((x[:-m], x[-m:] + torch.randn(m, length, device=dev) * noise))
    x = x * 10 ** (torch.empty(b, 1, device=dev).uniform_(-12, 4) / 20)
    return x / x.abs().amax(1, keepdim=True).clamp(min=0.99) * 0.99
