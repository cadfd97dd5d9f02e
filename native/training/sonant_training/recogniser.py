"""A small character recogniser (CTC) trained on the teachers' audio.

It judges speech during training, as part of the codec's loss, and afterwards, as an in-domain measure.
Usage: python3 -m sonant_training.recogniser --shards DIR --out DIR --seconds N
"""
from __future__ import annotations

import argparse
import os
import re
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from .losses import mel_filters
from .lm import Block, rope
from .shards import Shards
from .tensors import half

CHARS = " abcdefghijklmnopqrstuvwxyz'"
STEP = 960  # samples per feature frame


def normal(text):
    """Words as the recogniser spells them."""
    return re.sub(r"[^a-z' ]+", " ", text.lower().replace("-", " ")).split()


def ids(text):
    return [1 + CHARS.index(c) for c in " ".join(normal(text))]


class Recogniser(nn.Module):
    def __init__(self, d=256, heads=4, layers=6):
        super().__init__()
        self.register_buffer("win", torch.hann_window(1920), persistent=False)
        self.register_buffer("fb", mel_filters(961, 60.0, 7800.0, 80), persistent=False)
        self.inp = nn.Sequential(nn.Conv1d(80, d, 5, padding=2), nn.GELU(), nn.Conv1d(d, d, 3, padding=1))
        self.h = nn.ModuleList([Block(d, heads, 4 * d, 1e-5) for _ in range(layers)])
        for b in self.h:
            b.p_drop = 0.1
        self.ln = nn.LayerNorm(d)
        self.out = nn.Linear(d, len(CHARS) + 1)
        self.head_dim = d // heads

    def mel(self, x):
        with torch.autocast("cuda", enabled=False):
            s = torch.view_as_real(torch.stft(x.float(), 1920, STEP, 1920, self.win, return_complex=True))
            return (s.square().sum(-1).transpose(1, 2) @ self.fb).clamp(min=1e-7).log().transpose(1, 2)

    def body(self, m, mask=None):
        """(B, 80, frames) -> hidden states after each block, (B, frames, d)."""
        h = self.inp(m).transpose(1, 2)
        cos, sin = rope(torch.arange(h.shape[1], device=h.device)[None], self.head_dim, 10000.0)
        if mask is None:
            mask = torch.ones(1, 1, 1, h.shape[1], dtype=torch.bool, device=h.device)
        out = []
        for b in self.h:
            h = b(h, cos, sin, mask)
            out.append(h)
        return out

    def features(self, x):
        """Hidden states of every second block and letter log-probabilities, for whole windows of audio."""
        m = self.mel(x)
        h = self.body((m - m.mean(-1, keepdim=True)) / 3.0)
        return h[1::2], self.out(self.ln(h[-1])).float().log_softmax(-1)

    def forward(self, x, lens):
        """x: (B, samples); lens: (B,) samples -> log-probabilities (B, frames, letters) and frame counts."""
        m = self.mel(x)
        n = (lens // STEP + 1).clamp(max=m.shape[-1])
        valid = torch.arange(m.shape[-1], device=x.device)[None] < n[:, None]
        v = valid[:, None].float()
        m = (m - (m * v).sum(-1, keepdim=True) / v.sum(-1, keepdim=True)) / 3.0 * v
        if self.training:  # hide two bands and two moments
            t, f = torch.arange(m.shape[-1], device=x.device), torch.arange(80, device=x.device)
            for _ in range(2):
                o = torch.rand(len(m), 1, device=x.device)
                m = m * ~((f[None] >= o * 80) & (f[None] < o * 80 + 10))[:, :, None]
                o = torch.rand(len(m), 1, device=x.device) * n[:, None]
                m = m * ~((t[None] >= o) & (t[None] < o + 8))[:, None]
        h = self.body(m, valid[:, None, None])[-1]
        return self.out(self.ln(h)).float().log_softmax(-1), n

    @torch.no_grad()
    def transcribe(self, waves, device="cpu", batch=32):
        """Float arrays at 48 kHz -> lists of words."""
        self.eval()
        out = [None] * len(waves)
        order = sorted(range(len(waves)), key=lambda i: len(waves[i]))
        for k in range(0, len(order), batch):
            g = order[k:k + batch]
            lens = torch.tensor([max(1920, len(waves[i])) for i in g], device=device)
            x = torch.zeros(len(g), int(lens.max()), device=device)
            for j, i in enumerate(g):
                x[j, :len(waves[i])] = torch.as_tensor(np.ascontiguousarray(waves[i]), device=device)
            lp, n = self(x, lens)
            for j, i in enumerate(g):
                best = lp[j, :int(n[j])].argmax(-1).tolist()
                out[i] = "".join(CHARS[b - 1] for a, b in zip([-1] + best, best) if b != a and b).split()
        return out


def edits(a, b):
    """Levenshtein distance between two sequences."""
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        p, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            p, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, p + (x != y))
    return d[-1]


def rates(refs, hyps):
    """(word error rate, character error rate) over lists of word lists."""
    we = sum(edits(r, h) for r, h in zip(refs, hyps)) / max(1, sum(len(r) for r in refs))
    ce = sum(edits(" ".join(r), " ".join(h)) for r, h in zip(refs, hyps)) / max(1, sum(len(" ".join(r)) for r in refs))
    return we, ce


class Feed:
    """Utterances on the device, grouped by length into batches of about `seconds` of audio."""

    def __init__(self, folder, device, hours, seconds):
        self.shards, self.device, self.seconds = Shards(folder), device, seconds
        self.buf = torch.zeros(int(hours * 3600 * 48000), dtype=torch.int16, device=device)
        self.n, self.items, self.queue = 0, [], []
        self.rng = np.random.default_rng(0)

    def refresh(self, limit):
        for _, x, meta in self.shards.new(limit):
            if self.n + len(x) > len(self.buf):
                return
            self.buf[self.n:self.n + len(x)] = torch.from_numpy(x).to(self.device)
            o = self.n
            for _, text, k in meta:
                c = ids(text)
                if c and not re.search(r"\d", text) and k // STEP > 1.3 * len(c) and k < 11 * 48000:
                    self.items.append((o, k, c))
                o += k
            self.n += len(x)

    def batch(self):
        """-> audio (B, samples), sample counts (B,), letter lists."""
        if not self.queue:
            pick = sorted(self.rng.choice(len(self.items), min(len(self.items), 2048), replace=False),
                          key=lambda i: self.items[i][1])
            k = 0
            while k < len(pick):
                j = k
                while j < len(pick) and (j - k + 1) * self.items[pick[j]][1] < self.seconds * 48000:
                    j += 1
                self.queue.append(pick[k:max(j, k + 1)])
                k = max(j, k + 1)
            self.rng.shuffle(self.queue)
        g = [self.items[i] for i in self.queue.pop()]
        lens = torch.tensor([k for _, k, _ in g], device=self.device)
        off = torch.tensor([o for o, _, _ in g], device=self.device)
        t = torch.arange(int(max(k for _, k, _ in g)), device=self.device)
        x = self.buf[(off[:, None] + t).clamp(max=len(self.buf) - 1)].float() / 32768 * (t[None] < lens[:, None])
        return x, lens, [c for _, _, c in g]


def read_recogniser(path, device="cpu"):
    """recogniser.pt -> the recogniser as a listener: nothing in it learns on."""
    model = Recogniser().to(device)
    model.load_state_dict(torch.load(path, map_location=device))
    return model.eval().requires_grad_(False)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--shards", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--seconds", type=float, default=300)
    ap.add_argument("--hours", type=float, default=50)
    ap.add_argument("--min-shards", type=int, default=60)
    ap.add_argument("--batch-seconds", type=float, default=300)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    cuda = torch.cuda.is_available()
    dev = "cuda" if cuda else "cpu"
    if cuda:  # cuDNN's attention plans anew for every batch shape
        torch.backends.cuda.enable_cudnn_sdp(False)
    model = Recogniser().to(dev)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.02,
                            **(dict(fused=True) if cuda else {}))
    feed = Feed(a.shards, dev, a.hours, a.batch_seconds)
    while len(feed.shards.seen) < a.min_shards:
        feed.refresh(40)
        time.sleep(0.5)
    start, step, run = time.time(), 0, []
    model.train()
    while (frac := (time.time() - start) / a.seconds) < 1:
        if step % 25 == 0:
            feed.refresh(10)
        x, lens, letters = feed.batch()
        n = len(letters)
        x = x * 10 ** torch.empty(n, 1, device=dev).uniform_(-0.4, 0.2) \
            + torch.randn_like(x) * 10 ** torch.empty(n, 1, device=dev).uniform_(-4.5, -2.3)
        tgt = torch.tensor([c for s in letters for c in s], device=dev)
        tl = torch.tensor([len(s) for s in letters], device=dev)
        for g in opt.param_groups:
            g["lr"] = 1e-3 * min(1.0, frac / 0.03) * (1 - frac) ** 0.7 + 1e-6
        with half(dev):
            lp, fr = model(x, lens)
        loss = F.ctc_loss(lp.transpose(0, 1), tgt, fr, tl, zero_infinity=True)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        run.append(loss.detach())
        step += 1
        if step % 200 == 0:
            print(f"recogniser {time.time() - start:.0f}s step {step} loss {float(torch.stack(run).mean()):.3f} "
                  f"utterances {len(feed.items)}", flush=True)
            run = []
    torch.save(model.state_dict(), f"{a.out}/recogniser.tmp")
    os.rename(f"{a.out}/recogniser.tmp", f"{a.out}/recogniser.pt")
    print("recogniser end", step, flush=True)


if __name__ == "__main__":
    main()
