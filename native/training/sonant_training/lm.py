"""The language model: a global transformer over rows and a local one over the 17 decisions of a frame.

A row holds one text id and 16 codes. The global transformer reads the sum of the row's embeddings; for every frame
the local transformer then predicts [go on or stop, code 0, ..., code 15] in order. Heads are tied to the embeddings.
Shapes: B batch, T rows, D hidden size, N frames.
"""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from .prompts import ASSISTANT_SLOT, AUDIO_END, AUDIO_PAD, IM_END, IM_START, AUDIO_START, PAD, USER_SLOT
from .tensors import BOOKS, CODES, attend


def lm_config(hidden=384, heads=6, layers=8, local_layers=1, vocab=768, n_vq=BOOKS, max_positions=8192) -> dict:
    """Configuration in the published format; the defaults are the starter's sizes."""
    gpt2 = dict(model_type="gpt2", activation_function="gelu_new", attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
                bos_token_id=1, eos_token_id=2, pad_token_id=PAD, initializer_range=0.02, layer_norm_epsilon=1e-5,
                n_ctx=max_positions, n_embd=hidden, n_head=heads, n_inner=4 * hidden, n_layer=layers,
                n_positions=max_positions, position_embedding_type="rope", rope_base=10000.0,
                scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, tie_word_embeddings=True,
                vocab_size=vocab)
    return dict(model_type="moss_tts_nano", architectures=["MossTTSNanoForCausalLM"], dtype="bfloat16",
                model_architecture="global_local_transformer", n_vq=n_vq, audio_vocab_size=CODES,
                audio_codebook_sizes=[CODES] * n_vq, audio_pad_token_id=AUDIO_PAD, pad_token_id=PAD,
                im_start_token_id=IM_START, im_end_token_id=IM_END, audio_start_token_id=AUDIO_START,
                audio_end_token_id=AUDIO_END, audio_user_slot_token_id=USER_SLOT,
                audio_assistant_slot_token_id=ASSISTANT_SLOT, tokenizer_use_fast=False,
                tokenizer_class="MossTTSNanoSentencePieceTokenizer",
                audio_tokenizer_type="moss-audio-tokenizer-nano", audio_tokenizer_sample_rate=48000,
                attn_implementation="sdpa", local_transformer_layers=local_layers,
                local_transformer_attn_implementation="sdpa", initializer_range=0.02, hidden_size=hidden,
                vocab_size=vocab, max_position_embeddings=max_positions, tie_word_embeddings=True, gpt2_config=gpt2)


def rope(pos, dim, base):
    """(cos, sin), each (..., T, 1, 1, dim / 2), for positions (..., T)."""
    inv = 1.0 / base ** (torch.arange(0, dim, 2, device=pos.device, dtype=torch.float32) / dim)
    angle = (pos.float()[..., None] * inv)[..., None, None, :]
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Rotate adjacent feature pairs: x (B, T, 2, H, D / H), in float32."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


class Attn(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, cos, sin, mask=None, cache=None):
        b, t, d = x.shape
        qkv = self.c_attn(x).view(b, t, 3, self.heads, d // self.heads)
        qk = rotate(qkv[:, :, :2], cos, sin)
        q, k, v = (u.transpose(1, 2) for u in (qk[:, :, 0], qk[:, :, 1], qkv[:, :, 2]))
        if cache is not None:
            at = cache["at"]
            cache["k"][:, :, at:at + t], cache["v"][:, :, at:at + t] = k, v
            k, v = cache["k"][:, :, :at + t], cache["v"][:, :, :at + t]
        o = attend(q, k, v, attn_mask=mask, is_causal=mask is None and cache is None)
        return self.c_proj(o.transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, d, inner):
        super().__init__()
        self.fc_in, self.fc_out = nn.Linear(d, inner), nn.Linear(inner, d)

    def forward(self, x):
        return self.fc_out(F.gelu(self.fc_in(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, d, heads, inner, eps):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d, eps=eps), nn.LayerNorm(d, eps=eps)
        self.attn, self.mlp = Attn(d, heads), Mlp(d, inner)
        self.p_drop = 0.0
        self.fast = None  # a compiled forward for training

    def forward(self, x, cos, sin, mask=None, cache=None):
        x = x + F.dropout(self.attn(self.ln_1(x), cos, sin, mask, cache), self.p_drop, self.training)
        return x + F.dropout(self.mlp(self.ln_2(x)), self.p_drop, self.training)


class Decoder(nn.Module):
    def __init__(self, g, layers, vocab=None):
        super().__init__()
        d = g["n_embd"]
        self.head_dim, self.base = d // g["n_head"], g["rope_base"]
        if vocab:
            self.wte = nn.Embedding(vocab, d)
        self.h = nn.ModuleList([Block(d, g["n_head"], g["n_inner"] or 4 * d, g["layer_norm_epsilon"])
                                for _ in range(layers)])
        self.ln_f = nn.LayerNorm(d, eps=g["layer_norm_epsilon"])

    def forward(self, x, pos=None, mask=None, caches=None):
        if pos is None:
            pos = torch.arange(x.shape[1], device=x.device)[None]
        cos, sin = rope(pos, self.head_dim, self.base)
        for i, block in enumerate(self.h):
            if block.fast is not None and self.training and caches is None:
                x = block.fast(x, cos, sin)
            else:
                x = block(x, cos, sin, mask, None if caches is None else caches[i])
        return self.ln_f(x)


def book_losses(y, weight, codes):
    """Cross-entropy of every code: y (N, K, D), weight (K, V, D), codes (N, K) -> (N, K)."""
    logits = torch.einsum("nkd,kvd->nkv", y, weight.to(y.dtype)).float()
    return torch.logsumexp(logits, -1) - logits.gather(-1, codes[..., None])[..., 0]


class MossLM(nn.Module):
    def __init__(self, cfg: dict):
        super().__init__()
        self.cfg, g = cfg, cfg["gpt2_config"]
        self.n_vq = cfg["n_vq"]
        self.transformer = Decoder(g, g["n_layer"], g["vocab_size"])
        self.audio_embeddings = nn.ModuleList([nn.Embedding(n, g["n_embd"]) for n in cfg["audio_codebook_sizes"]])
        self.local_transformer = Decoder(g, cfg["local_transformer_layers"])
        self.book_losses = book_losses
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=cfg["initializer_range"])
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.zeros_(m.bias)
        for b in self.transformer.h:
            for w in (b.attn.c_proj.weight, b.mlp.fc_out.weight):
                w.data.mul_((2 * g["n_layer"]) ** -0.5)

    def compile_blocks(self, **options):
        """Compile the blocks and the code losses for training, for any batch shape."""
        torch._dynamo.config.recompile_limit = 64
        for block in list(self.transformer.h) + list(self.local_transformer.h):
            block.fast = torch.compile(block.forward, dynamic=True, **options)
        self.book_losses = torch.compile(book_losses, dynamic=True, **options)

    def run_as_written(self):
        for block in list(self.transformer.h) + list(self.local_transformer.h):
            block.fast = None
        self.book_losses = book_losses

    def audio_table(self):
        """All codebook embeddings as one table, (16 * 1024, D)."""
        return torch.cat([e.weight for e in self.audio_embeddings])

    def embed(self, rows, table=None):
        """rows (B, T, 17) -> (B, T, D). Look-ups are index_select: its gradient can be recorded in a CUDA graph."""
        table = self.audio_table() if table is None else table
        codes = rows[..., 1:]
        real = (codes < CODES)[..., None]
        spread = torch.arange(codes.numel(), device=rows.device).view_as(codes) % (self.n_vq * CODES)
        idx = torch.where(real[..., 0], codes + torch.arange(self.n_vq, device=rows.device) * CODES, spread)
        audio = (table.index_select(0, idx.flatten()).view(*codes.shape, -1) * real).sum(-2)
        text = self.transformer.wte.weight.index_select(0, rows[..., 0].flatten()).view(*rows.shape[:2], -1)
        return text + audio.to(text.dtype)

    def local(self, h, tgt, books, table):
        """Local transformer over [global hidden, slot, code 0, ...] for the first `books` codes of each frame.

        h (N, D); tgt (N, 17) -> text logits (N, vocab), losses (N, books).
        """
        codes = tgt[:, 1:books + 1].clamp(max=CODES - 1)
        off = torch.arange(books, device=h.device) * CODES
        before = table.index_select(0, (codes[:, :-1] + off[:-1]).flatten()).view(len(h), books - 1, -1)
        x = torch.cat((h[:, None], self.transformer.wte.weight.index_select(0, tgt[:, 0])[:, None], before), 1)
        y = self.local_transformer(x)
        w = torch.stack([e.weight for e in self.audio_embeddings[:books]])
        return F.linear(y[:, 0], self.transformer.wte.weight).float(), self.book_losses(y[:, 1:], w, codes)

    def loss(self, rows, where_b, where_t, where_f, weights, stop_weight=0.2, noise=0.0, full=0, head=4):
        """Mean losses over assistant rows -> (loss, per-book losses (16,), stop loss).

        rows (B, T, 17) right padded; where_b, where_t (N,) index the rows to predict *from*, the row after each is the
        target; where_f (N,) is 1 for a frame, 0 for the end row. With full > 0 all 16 codes are predicted only for the
        first `full` of these rows and the first `head` codes for the others: neighbouring frames teach nearly the
        same, and the rest of the codes costs most of the step.
        """
        table = self.audio_table()
        clean = rows
        if noise > 0:  # replace some past codes by random ones, so that mistakes in generation matter less
            c = rows[..., 1:]
            hit = (torch.rand(rows.shape[:2], device=rows.device) < noise)[..., None] \
                & (torch.rand(c.shape, device=rows.device) < 0.5) & (c < CODES)
            c = torch.where(hit, torch.randint_like(c, 0, CODES), c)
            rows = torch.cat((rows[..., :1], c), -1)
        hid = self.transformer(self.embed(rows, table))
        at = where_b * rows.shape[1] + where_t
        h, tgt = hid.flatten(0, 1).index_select(0, at), clean.flatten(0, 1).index_select(0, at + 1)
        f = where_f.float()[:, None]
        full = full or len(h)
        text, ce = self.local(h[:full], tgt[:full], self.n_vq, table)
        per_book = (ce * f[:full]).sum(0) / f[:full].sum().clamp(min=1)
        if full < len(h):
            text_b, ce_b = self.local(h[full:], tgt[full:], head, table)
            text = torch.cat((text, text_b))
            both = ((ce[:, :head] * f[:full]).sum(0) + (ce_b * f[full:]).sum(0)) / f.sum().clamp(min=1)
            per_book = torch.cat((both, per_book[head:]))
        stop = F.cross_entropy(text, tgt[:, 0])
        return (per_book * weights).sum() + stop_weight * stop, per_book.detach(), stop.detach()
