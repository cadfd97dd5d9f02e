"""Batched sampling from the language model, for evaluation (the product's engine has its own)."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from .prompts import ASSISTANT_SLOT, AUDIO_END, AUDIO_PAD, PAD
from .tensors import CODES


def sample(scores, temperature, top_k, top_p, generator=None):
    """One id per row of scores (B, V); temperature 0 takes the best."""
    if temperature <= 0:
        return scores.argmax(-1)
    top, idx = (scores / temperature).topk(min(top_k or scores.shape[-1], scores.shape[-1]), -1)
    p = top.softmax(-1)
    if 0 < top_p < 1:
        p = p * (p.cumsum(-1) - p < top_p)
    pick = torch.multinomial(p / p.sum(-1, keepdim=True), 1, generator=generator)
    return idx.gather(-1, pick)[:, 0]


@torch.no_grad()
def generate(lm, prompts, max_frames=200, temperature=0.4, top_k=20, top_p=0.9, text_temperature=1.0, generator=None):
    """prompts: list of (T, 17) rows -> (list of (frames, 16) codes, list of flags: stopped by itself)."""
    dev, dt = lm.transformer.wte.weight.device, lm.transformer.wte.weight.dtype
    b, longest = len(prompts), max(len(p) for p in prompts)
    rows = torch.full((b, longest, lm.n_vq + 1), AUDIO_PAD, dtype=torch.long, device=dev)
    rows[..., 0] = PAD
    real = torch.zeros(b, longest + max_frames, dtype=torch.bool, device=dev)
    real[:, longest:] = True
    for i, p in enumerate(prompts):  # padded on the left
        rows[i, longest - len(p):] = p.to(dev)
        real[i, longest - len(p):longest] = True
    g = lm.cfg["gpt2_config"]

    def caches(length, blocks):
        shape = (b, g["n_head"], length, g["n_embd"] // g["n_head"])
        return [dict(k=torch.zeros(shape, dtype=dt, device=dev), v=torch.zeros(shape, dtype=dt, device=dev), at=0)
                for _ in blocks]

    past = caches(longest + max_frames, lm.transformer.h)
    pos = real.long().cumsum(1) - 1
    table = lm.audio_table()
    mask = torch.ones(longest, longest, dtype=torch.bool, device=dev).tril()[None, None] \
        & real[:, None, None, :longest] | torch.eye(longest, dtype=torch.bool, device=dev)[None, None]
    hid = lm.transformer(lm.embed(rows, table), pos[:, :longest].clamp(min=0), mask, past)[:, -1]
    done = torch.zeros(b, dtype=torch.bool, device=dev)
    pair = torch.tensor([ASSISTANT_SLOT, AUDIO_END], device=dev)
    out, alive = [], []
    for step in range(max_frames):
        inner = caches(lm.n_vq + 1, lm.local_transformer.h)

        def local(x, at):
            for c in inner:
                c["at"] = at
            return lm.local_transformer(x[:, None], torch.full((1, 1), at, device=dev), None, inner)[:, 0]

        t = F.linear(local(hid, 0), lm.transformer.wte.weight[pair]).float()
        nxt = torch.multinomial((t / text_temperature).softmax(-1), 1, generator=generator)[:, 0]
        done = done | (nxt == 1)
        if bool(done.all()):
            break
        x, frame = lm.transformer.wte.weight[pair[nxt]], []
        for k in range(lm.n_vq):
            s = F.linear(local(x, k + 1), lm.audio_embeddings[k].weight).float()
            c = sample(s, temperature, top_k, top_p, generator)
            frame.append(c)
            x = lm.audio_embeddings[k].weight[c]
        out.append(torch.stack(frame, -1))
        alive.append(~done)
        if step + 1 < max_frames:
            row = torch.cat((torch.full((b, 1), ASSISTANT_SLOT, device=dev), out[-1]), 1)[:, None]
            at = longest + step
            for c in past:
                c["at"] = at
            hid = lm.transformer(lm.embed(row, table), pos[:, at:at + 1], real[:, None, None, :at + 1], past)[:, -1]
    if not out:
        return [torch.zeros(0, lm.n_vq, dtype=torch.long) for _ in range(b)], done.tolist()
    codes, alive = torch.stack(out, 1), torch.stack(alive, 1)
    return [codes[i, :int(alive[i].sum())].cpu() for i in range(b)], done.tolist()
