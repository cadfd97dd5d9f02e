"""How the codebooks of the residual quantizer learn: start from data, running means, revival of dead codes.

The projections around the codebooks get gradients; the codebooks themselves do not.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F


@torch.no_grad()
def start_from_data(quantizer, z, rounds=8):
    """Each stage codes the strongest directions that are left. z: encoder outputs (B, C, T).

    Projections become (softly whitened) principal directions, codebooks the means of spherical k-means clusters, so
    that every code is in use from the start. Returns the share of the variance left after each stage.
    """
    res = quantizer.input_proj(z.float()).transpose(1, 2).flatten(0, 1)
    left, unit, total = [], None, float(res.var(0).sum())
    for q in quantizer.quantizers:
        mu = res.mean(0)
        c = res - mu
        val, vec = torch.linalg.eigh(c.t() @ c / len(c))
        k = q.codebook.weight.shape[1]
        std = val[-k:].clamp(min=1e-10).sqrt()
        unit = std.mean() if unit is None else unit
        scale = unit * (std / std.mean()).clamp(min=0.1) ** 0.5
        w, back = vec[:, -k:].t() / scale[:, None], vec[:, -k:] * scale[None]
        for mod, m, bias in ((q.in_proj, w, -w @ mu), (q.out_proj, back, mu)):
            par = mod.parametrizations.weight
            par.original1.copy_(m[..., None])
            par.original0.copy_(m.norm(dim=1)[:, None, None])
            mod.bias.copy_(bias)
        e = c @ w.t()
        size = q.codebook.weight.shape[0]
        pick = torch.randperm(len(e), device=e.device)[:size] if len(e) >= size else \
            torch.randint(0, len(e), (size,), device=e.device)
        book = e[pick].clone()

        def nearest(book):
            return (F.normalize(e, dim=-1) @ F.normalize(book, dim=-1).t()).argmax(-1)

        for _ in range(rounds):
            idx = nearest(book)
            n = torch.zeros(size, device=e.device).index_add_(0, idx, torch.ones_like(idx, dtype=e.dtype))
            mean = torch.zeros_like(book).index_add_(0, idx, e) / n.clamp(min=1)[:, None]
            book = torch.where((n > 0)[:, None], mean, e[torch.randint(0, len(e), (size,), device=e.device)])
        q.codebook.weight.copy_(book)
        res = res - (book[nearest(book)] @ back.t() + mu)
        left.append(round(float(res.var(0).sum()) / total, 4))
    return left


class RunningMeans:
    """Counts (N, size) and latent sums (N, size, C) behind every code, as decaying averages."""

    def __init__(self, quantizer):
        self.quantizer = quantizer
        self.books = [q.codebook for q in quantizer.quantizers]
        w = torch.stack([b.weight.detach() for b in self.books])
        self.count = torch.ones(w.shape[:2], device=w.device)
        self.total = w * self.count[..., None]
        for b in self.books:
            b.weight.requires_grad_(False)

    @torch.no_grad()
    def restart(self):
        self.count.fill_(1.0)
        self.total.copy_(torch.stack([b.weight for b in self.books]))

    @torch.no_grad()
    def update(self, codes, latents, decay=0.98):
        """Move every code towards the mean of the latents that chose it. codes: (N, B, T); latents: N x (B, C, T)."""
        idx = codes.reshape(codes.shape[0], -1)
        e = torch.stack([x.transpose(1, 2).flatten(0, 1) for x in latents])
        n = torch.zeros_like(self.count).scatter_add_(1, idx, torch.ones(idx.shape, device=idx.device))
        s = torch.zeros_like(self.total).scatter_add_(1, idx[..., None].expand_as(e), e)
        self.count.mul_(decay).add_(n, alpha=1 - decay)
        self.total.mul_(decay).add_(s, alpha=1 - decay)
        mean = self.total / self.count.clamp(min=1e-4)[..., None]
        for i, b in enumerate(self.books):
            b.weight.copy_(torch.where((self.count[i] > 1e-3)[:, None], mean[i], b.weight))

    @torch.no_grad()
    def revive(self, latents, floor=0.06):
        """Put codes that are hardly used onto random current latents, without waiting for the device."""
        dead = self.count < floor
        for i, b in enumerate(self.books):
            flat = latents[i].transpose(1, 2).flatten(0, 1)
            pick = flat[torch.randint(0, flat.shape[0], (self.count.shape[1],), device=flat.device)]
            b.weight.copy_(torch.where(dead[i][:, None], pick, b.weight))
            self.total[i].copy_(torch.where(dead[i][:, None], pick * 0.5, self.total[i]))
        self.count.masked_fill_(dead, 0.5)
