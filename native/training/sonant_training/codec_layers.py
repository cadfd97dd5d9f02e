"""Building blocks of the codec: causal windowed attention, transformer stage, patching, residual quantizer.

Shapes: B batch, T tokens, C channels, H heads, D head size. Parameter names follow the published checkpoint.
"""
from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize

from .tensors import attend


def rope_table(length, dim, max_period, device):
    """(cos, sin), each (length, dim / 2): the rotation of every feature pair at every position."""
    freq = torch.exp(torch.arange(dim // 2, device=device, dtype=torch.float32) * (-math.log(max_period) * 2 / dim))
    angle = torch.arange(length, device=device, dtype=torch.float32)[:, None] * freq[None]
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Rotate adjacent feature pairs: x (..., D) by cos, sin (..., D / 2); computed in float32."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


def window_mask(t, context, batch, device, dtype):
    """Additive mask for `windowed`; None where plain causal attention gives the same."""
    if t <= context:
        return None
    if t < 2 * context or t % context:
        d = torch.arange(t, device=device)[:, None] - torch.arange(t, device=device)[None]
        return torch.zeros(t, t, device=device, dtype=dtype).masked_fill((d < 0) | (d >= context), float("-inf"))
    n, w = t // context, context
    d = torch.arange(w, 2 * w, device=device)[:, None] - torch.arange(2 * w, device=device)[None]
    ok = ((d >= 0) & (d < w))[None] & ((torch.arange(n, device=device) > 0)[:, None, None]
                                      | (torch.arange(2 * w, device=device) >= w)[None, None])
    m = torch.zeros(n, w, 2 * w, device=device, dtype=dtype).masked_fill(~ok, float("-inf"))
    return m.repeat(batch, 1, 1)[:, None]


def windowed(q, k, v, mask, context):
    """Causal attention over the last `context` positions. q, k, v: (B, T, H, D) -> (B, T, H * D).

    With a blockwise (4-D) mask every block of `context` queries sees its own block and the one before.
    """
    b, t, h, d = q.shape
    if mask is not None and mask.dim() == 4:
        w, n = context, t // context

        def pair(x):
            x = x.reshape(b, n, w, h, d)
            return torch.cat((F.pad(x[:, :-1], (0, 0, 0, 0, 0, 0, 1, 0)), x), 2).reshape(b * n, 2 * w, h, d)

        q, k, v = q.reshape(b * n, w, h, d), pair(k), pair(v)
    o = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask,
                                       is_causal=mask is None)
    return o.transpose(1, 2).reshape(b, t, h * d)


class Attention(nn.Module):
    def __init__(self, dim, heads, context):
        super().__init__()
        self.heads, self.context = heads, context
        self.in_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, c = x.shape
        qkv = self.in_proj(x).view(b, t, 3, self.heads, c // self.heads)
        qk = rotate(qkv[:, :, :2], cos, sin)
        return self.out_proj(windowed(qk[:, :, 0], qk[:, :, 1], qkv[:, :, 2], mask, self.context))


class Scale(nn.Module):
    def __init__(self, dim, init):
        super().__init__()
        self.scale = nn.Parameter(torch.full((dim,), float(init)))

    def forward(self, x):
        return x * self.scale


class Layer(nn.Module):
    def __init__(self, dim, heads, ff, context, scale):
        super().__init__()
        self.self_attn = Attention(dim, heads, context)
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-5), nn.LayerNorm(dim, eps=1e-5)
        self.ffn = nn.Sequential(nn.Linear(dim, ff, bias=False), nn.GELU(), nn.Linear(ff, dim, bias=False))
        self.layer_scale_1, self.layer_scale_2 = Scale(dim, scale), Scale(dim, scale)
        self.fast = None  # a compiled forward, used while gradients are on

    def forward(self, x, cos, sin, mask):
        x = x + self.layer_scale_1(self.self_attn(self.norm1(x), cos, sin, mask))
        return x + self.layer_scale_2(self.ffn(self.norm2(x)))


class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)


class Stage(nn.Module):
    """Input projection, transformer layers, output projection: (B, T, C_in) -> (B, T, C_out)."""

    def __init__(self, cfg, context, init_scale=None):
        super().__init__()
        d, h = cfg["d_model"], cfg["num_heads"]
        self.context, self.head_dim, self.max_period = context, d // h, float(cfg["max_period"])
        self.input_proj = nn.Linear(cfg["input_dimension"], d, bias=False)
        scale = cfg["layer_scale"] if init_scale is None else init_scale
        self.transformer = Stack([Layer(d, h, cfg["dim_feedforward"], context, scale)
                                  for _ in range(cfg["num_layers"])])
        self.output_proj = nn.Linear(d, cfg["output_dimension"], bias=False)

    def body(self, x):
        x = self.input_proj(x)
        b, t, _ = x.shape
        cos, sin = (u[:, None, None] for u in rope_table(t, self.head_dim, self.max_period, x.device))
        mask = window_mask(t, self.context, b, x.device, x.dtype)
        for layer in self.transformer.layers:
            run = layer.fast if layer.fast is not None and torch.is_grad_enabled() and x.requires_grad else layer
            x = run(x, cos, sin, mask)
        return x

    def forward(self, x):
        return self.output_proj(self.body(x))


class Patch(nn.Module):
    """Moves time into channels (down) or channels into time; channel index = c * size + offset in the patch."""

    def __init__(self, size, down):
        super().__init__()
        self.size, self.down = size, down

    def forward(self, x):
        b, t, c = x.shape
        p = self.size
        if self.down:
            return x.view(b, t // p, p, c).transpose(2, 3).reshape(b, t // p, c * p)
        return x.view(b, t, c // p, p).transpose(2, 3).reshape(b, t * p, c // p)


class WeightNorm(nn.Module):
    """weight = g * v / |v| over all but the first dimension; stored as original0 (g) and original1 (v)."""

    def forward(self, g, v):
        return v * (g / v.flatten(1).norm(dim=1).view(-1, *[1] * (v.dim() - 1)))

    def right_inverse(self, w):
        return w.flatten(1).norm(dim=1).view(-1, *[1] * (w.dim() - 1)), w


def weight_norm(module):
    parametrize.register_parametrization(module, "weight", WeightNorm())
    return module


def point_conv(i, o):
    return weight_norm(nn.Conv1d(i, o, 1))


class Codebook(nn.Module):
    def __init__(self, dim, size, code_dim):
        super().__init__()
        self.in_proj, self.out_proj = point_conv(dim, code_dim), point_conv(code_dim, dim)
        self.codebook = nn.Embedding(size, code_dim)

    def lookup(self, z_e):
        """Nearest code by cosine similarity: (B, C, T) -> (B, T)."""
        e = F.normalize(z_e.transpose(1, 2).float(), dim=-1)
        return (e @ F.normalize(self.codebook.weight.float(), dim=-1).t()).argmax(-1)

    def embed(self, idx):
        return F.embedding(idx, self.codebook.weight).transpose(1, 2).float()


class ResidualQuantizer(nn.Module):
    """Sixteen stages; each codes what the earlier ones left. Latents are (B, C, T)."""

    def __init__(self, cfg):
        super().__init__()
        self.num = cfg["num_quantizers"]
        self.input_proj = point_conv(cfg["input_dim"], cfg["rvq_dim"])
        self.output_proj = point_conv(cfg["rvq_dim"], cfg["output_dim"])
        self.quantizers = nn.ModuleList([Codebook(cfg["rvq_dim"], cfg["codebook_size"], cfg["codebook_dim"])
                                         for _ in range(self.num)])

    def bypass(self, z):
        """The projections without quantization, for the first training steps."""
        return self.output_proj(self.input_proj(z.float()))

    def forward(self, z, keep):
        """keep: (B,) codebooks used by each item -> (latent, codes (N, B, T), commitment loss, stage inputs)."""
        z = self.input_proj(z.float())
        res, out, commit, codes, latents = z, 0.0, 0.0, [], []
        for i, q in enumerate(self.quantizers):
            z_e = q.in_proj(res)
            idx = q.lookup(z_e)
            z_q = q.embed(idx)
            use = (keep > i).float()[:, None, None]
            commit = commit + ((z_e - z_q.detach()) ** 2 * use).mean()
            o = q.out_proj(z_e + (z_q - z_e).detach())
            out = out + o * use
            res = res - o
            codes.append(idx)
            latents.append(z_e.detach())
        return self.output_proj(out), torch.stack(codes), commit / self.num, latents

    @torch.no_grad()
    def encode(self, z):
        """(B, C, T) -> codes (N, B, T)."""
        res, codes = self.input_proj(z.float()), []
        for q in self.quantizers:
            idx = q.lookup(q.in_proj(res))
            res = res - q.out_proj(q.embed(idx))
            codes.append(idx)
        return torch.stack(codes)

    def decode(self, codes):
        """(N, B, T) -> (B, C, T); N may be fewer than all codebooks."""
        return self.output_proj(sum(q.out_proj(q.embed(c)) for q, c in zip(self.quantizers, codes)))
