"""Shared ground: the audio constants, attention for old and new PyTorch, and safetensors files with numpy alone.

Never knows which model a tensor belongs to.
"""
from __future__ import annotations

import contextlib
import json
import struct

import numpy as np
import torch
import torch.nn.functional as F

RATE = 48000          # samples per second, per channel
HOP = 3840            # samples per frame (80 ms)
FRAME_RATE = 12.5     # frames per second
BOOKS = 16            # codes per frame
CODES = 1024          # entries per codebook
GROUP = 64            # columns of an int8 matrix that share a scale


def half(device):
    """Context in which matrix products run in bfloat16 on a GPU; nothing changes on a CPU."""
    cuda = torch.device(device).type == "cuda"  # PyTorch without CUDA refuses the context even when it is disabled
    return torch.autocast("cuda", torch.bfloat16) if cuda else contextlib.nullcontext()


def attend(q, k, v, attn_mask=None, is_causal=False):
    """Scaled dot-product attention, (B, H, T, D); spelled out for PyTorch before 2.0. Masks: additive or boolean."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, is_causal=is_causal)
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if is_causal:
        attn_mask = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else s + attn_mask
    return s.softmax(-1) @ v


def bf16_bytes(t: torch.Tensor) -> bytes:
    """Bytes of a float tensor as bfloat16, rounded to nearest even."""
    x = t.detach().float().contiguous().cpu().numpy().view(np.uint32)
    return ((x + 0x7FFF + ((x >> 16) & 1)) >> 16).astype("<u2").tobytes()


def write_safetensors(path: str, tensors: dict, metadata: dict | None = None) -> None:
    """Write every tensor as BF16, in the order of its name."""
    head, blobs, at = {}, [], 0
    if metadata:
        head["__metadata__"] = metadata
    for name in sorted(tensors):
        blob = bf16_bytes(tensors[name])
        head[name] = dict(dtype="BF16", shape=list(tensors[name].shape), data_offsets=[at, at + len(blob)])
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(blobs)


def read_safetensors(path: str) -> dict:
    """BF16, F32 or int8 file (I8 matrices with a scale for each row and group of columns) -> {name: float32 tensor}."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        head, body = json.loads(f.read(size)), f.read()
    out = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        a, b = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            x = (np.frombuffer(body[a:b], "<u2").astype(np.uint32) << 16).view(np.float32)
        elif entry["dtype"] == "F32":
            x = np.frombuffer(body[a:b], "<f4")
        elif entry["dtype"] == "I8":
            x = np.frombuffer(body[a:b], np.int8).astype(np.float32)
        else:
            raise ValueError(f"Expected BF16, F32 or I8 for tensor {name} but received {entry['dtype']} in {path}")
        out[name] = torch.from_numpy(x.reshape(entry["shape"]).copy())
    for name in [n for n, e in head.items() if e.get("dtype") == "I8"]:
        scale = out.pop(name + ".scale")
        rows, columns = out[name].shape
        out[name] = out[name] * scale.repeat_interleave(GROUP, 1)[:, :columns]
    return out
