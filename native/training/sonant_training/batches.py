"""Language-model samples from code files: reference voice, default voice and continuation, packed into batches.

Runs in producer processes without touching the device: a batch names frames by number, the trainer looks them up.
"""
from __future__ import annotations

import glob
import json
import os
import random
import time

import numpy as np

from .prompts import ASSISTANT_SLOT, AUDIO_END, PAD, Template

DEFAULT_VOICE = 0  # speaker of the samples without a reference
LONGEST_REFERENCE = 125  # frames, as the product cuts them
SPOILED = 0.3      # share of the references that come from a spoiled recording, where the speaker has some


def part_files(folder):
    return [p for p in sorted(glob.glob(f"{folder}/part*.npz")) if not p.endswith(".tmp.npz")]


def read_manifest(path):
    """Part files in the order in which their frames are numbered."""
    return open(path).read().split() if os.path.exists(path) else []


class Corpus:
    """Utterances of several part files; frame numbers run through all of them in the given order."""

    def __init__(self, paths, boost=None):
        """boost: {speaker id: times each utterance is drawn}."""
        self.spk, self.lens = np.zeros(0, np.int16), np.zeros(0, np.int32)
        self.spoiled, self.text, self.paths, self.boost = np.zeros(0, bool), [], [], boost or {}
        self.extend(paths)

    def extend(self, paths):
        parts = [np.load(p) for p in paths]
        for name in ("spk", "lens", "spoiled"):
            setattr(self, name, np.concatenate([getattr(self, name)] + [z[name] for z in parts]))
        for z in parts:
            self.text += json.loads(str(z["text"]))
        self.paths += paths
        self.start = np.concatenate(([0], np.cumsum(self.lens)[:-1])).astype(np.int64)
        self.clean, self.bad = {}, {}
        for i, (s, b) in enumerate(zip(self.spk.tolist(), self.spoiled.tolist())):
            (self.bad if b else self.clean).setdefault(s, []).append(i)
        ids = np.nonzero(~self.spoiled)[0]
        extra = [np.repeat(np.array(self.clean[s]), k - 1) for s, k in self.boost.items() if s in self.clean]
        self.ids = np.concatenate([ids] + extra)


def load_codes(paths):
    return np.concatenate([np.load(p)["codes"] for p in paths]).astype(np.int16)


class Maker:
    """Draws samples and lays out batches of at most `budget` rows, padding included."""

    def __init__(self, corpus, tokenizer, seed, budget, max_rows=512, train=True, frames=10240):
        import sentencepiece as spm
        self.c, self.budget, self.max_rows, self.train, self.frames = corpus, budget, max_rows, train, frames
        self.waiting = {}  # samples by padded length, until they fill a batch
        self.sp = spm.SentencePieceProcessor(model_file=tokenizer)
        self.template = Template(lambda s: self.sp.encode(s))
        self.rng = random.Random(seed)
        self.order, self.at = None, 0

    def ids(self, text):
        if self.train and self.rng.random() < 0.3:
            return self.sp.encode(text, enable_sampling=True, alpha=0.1, nbest_size=-1)
        return self.sp.encode(text)

    def next_id(self):
        if self.order is None or self.at >= len(self.order):
            self.order = np.random.default_rng(self.rng.randrange(1 << 30)).permutation(self.c.ids)
            self.at = 0
        self.at += 1
        return int(self.order[self.at - 1])

    def reference(self, s, parts):
        """Frame numbers of a reference of speaker s: another utterance, whole or in part, at times a spoiled one."""
        c, rng = self.c, self.rng
        pool = c.bad[s] if rng.random() < SPOILED and len(c.bad.get(s, ())) > 2 else c.clean[s]
        r = rng.choice(pool)
        while r in parts and len(pool) > 2:
            r = rng.choice(pool)
        n = min(int(c.lens[r]), rng.randint(14, LONGEST_REFERENCE))
        o = int(c.start[r]) + (0 if rng.random() < 0.5 else rng.randint(0, int(c.lens[r]) - n))
        return range(o, o + n)

    def sample(self):
        """-> (text column, frame number per row or -1, first predicted row). Row r is predicted from row r - 1."""
        c, rng, t = self.c, self.rng, self.template
        i = self.next_id()
        s = int(c.spk[i])
        u = rng.random()
        kind = "ref" if u < 0.82 or len(c.clean[s]) < 3 else "default" if u < 0.91 else "cont"
        if kind == "default" and DEFAULT_VOICE in c.clean:
            s = DEFAULT_VOICE
            i = rng.choice(c.clean[s])
        parts = [i]
        while len(parts) < 3 and (kind == "cont" and len(parts) == 1
                                  or c.lens[parts].sum() < 110 and rng.random() < 0.2):
            parts.append(rng.choice(c.clean[s]))
        frames = [f for p in parts for f in range(c.start[p], c.start[p] + c.lens[p])]
        ids = self.ids(" ".join(c.text[p] for p in parts))
        if kind == "ref":
            ref = list(self.reference(s, parts))
            col, at = t.prompt(ids, ref)
            fi = [-1] * len(col)
            fi[at:at + len(ref)] = ref
        else:
            col, _ = t.prompt(ids)
            fi = [-1] * len(col)
        first = len(col) + (int(c.lens[i]) if kind == "cont" else 0)
        return col + [ASSISTANT_SLOT] * len(frames) + [AUDIO_END], fi + frames + [-1], first

    def pack(self, g, width, count, frames):
        """Samples -> (text column (B, T), frame number (B, T), row indices b, t (N,), is-frame flag (N,)).

        Shapes depend on `width` alone, so that steps can be recorded: `count` samples (missing ones are padding) and
        `frames` predicted rows, a random choice of those in the batch, with repeats if there are too few.
        """
        col, fi = np.full((count, width), PAD, np.int32), np.full((count, width), -1, np.int32)
        wb, wt, wf = [], [], []
        for k, (a, b, first) in enumerate(g):
            col[k, :len(a)], fi[k, :len(a)] = a, b
            rows = np.arange(first - 1, len(a) - 1)
            flag = np.ones(len(rows), np.int32)
            flag[-1] = 0
            wb.append(np.full(len(rows), k))
            wt.append(rows)
            wf.append(flag)
        wb, wt, wf = np.concatenate(wb), np.concatenate(wt), np.concatenate(wf)
        mix = np.random.default_rng(self.rng.randrange(1 << 30)).permutation(len(wb))
        mix = np.resize(mix, frames) if frames else mix
        return col, fi, wb[mix].astype(np.int32), wt[mix].astype(np.int32), wf[mix]

    def chunk(self, n=2048):
        """Full batches out of n more samples, in random order; what is left over waits for the next chunk."""
        out = []
        for _ in range(n):
            x = self.sample()
            width = -(-len(x[0]) // 32) * 32
            if width > self.max_rows:
                continue
            group = self.waiting.setdefault(width, [])
            group.append(x)
            if len(group) == self.budget // width:
                out.append(self.pack(group, width, len(group), self.frames))
                self.waiting[width] = []
        self.rng.shuffle(out)
        return out

    def rest(self):
        """What still waits, as batches with all their rows: for validation."""
        return [self.pack(g, w, len(g), 0) for w, g in self.waiting.items() if g]


def producer(manifest, tokenizer, seed, budget, frames, boost, queue):
    """Endless batches into the queue; picks up new part files between chunks."""
    parts = read_manifest(manifest)
    while not parts:
        time.sleep(0.2)
        parts = read_manifest(manifest)
    maker = Maker(Corpus(parts, boost), tokenizer, seed, budget, frames=frames)
    while True:
        new = read_manifest(manifest)[len(maker.c.paths):]
        if new:
            maker.c.extend(new)
            maker.order = None
        for b in maker.chunk():
            queue.put(b)
