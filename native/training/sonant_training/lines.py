"""Takes the decoder's own pattern out of its noise: the last projection alone learns on, minutes on a CPU.

A decoder makes its sound in tokens of 2.5 ms. What they have in common in fricatives comes again with every token, or every
eight that one longer token becomes, and is heard and seen as lines at multiples of 400 and 50 Hz. What the projection reads
stays as it is, so it is worked out once.
Usage: python3 -m sonant_training.lines --codec DIR --shards DIR --recogniser FILE --out DIR
"""
from __future__ import annotations

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

from .codec import read_codec
from .export import write
from .losses import PATCH, MelLoss, coarse_loss, recogniser_loss, repetition_loss
from .recogniser import read_recogniser
from .shards import AudioPool
from .tensors import HOP, RATE
from .train_codec import lr_at

WINDOW, STEP = 32 * PATCH, 16 * PATCH  # 80 ms: bins lie 12.5 Hz apart, every 32nd is a multiple of 400 Hz
LINES = slice(5 * 32, 19 * 32)         # bins from 2 to 7.6 kHz, where fricatives are
CROSSINGS, QUIET = 5000, 10 ** -2.5    # zero crossings a second that only fricatives have, rms of the quietest (-50 dBFS)
POSITIONS = 8                          # tokens in 20 ms
BAND = slice(4, 28)                    # multiples of 400 Hz at which the pattern is looked for
# How far to go the way that is learned. Lines are gone after half of it, and all of it costs words (METRICS.md).
SHARE = 0.55
# Each loss in units of what it is to begin with.
WEIGHTS = dict(mel=0.6, coarse=0.8, hear=1.0, repeat=0.15, pattern=0.7, lines=0.3)


def fricatives(x):
    """(B, samples) -> bool (B, windows): which windows of 80 ms, every 40 ms, are noise of a fricative."""
    w = x.unfold(1, WINDOW, STEP)
    crossings = ((w[..., 1:] >= 0) != (w[..., :-1] >= 0)).sum(-1) * (RATE / WINDOW)
    return (crossings > CROSSINGS) & (w.square().mean(-1).sqrt() > QUIET)


def line_power(y, chosen):
    """Mean power of y (B, samples) at multiples of 400 Hz in the chosen windows (B, windows), 1 in noise."""
    w = y.unfold(1, WINDOW, STEP)[chosen] * torch.hann_window(WINDOW)
    power = torch.view_as_real(torch.fft.rfft(w)[:, LINES]).square().sum(-1).unflatten(1, (-1, 32))
    return (power[..., 0] / power.mean(-1).clamp(min=1e-12)).mean()


def common(tokens, y, chosen):
    """What tokens have in common at each place in 20 ms of the chosen windows, relative to the sound's power there.

    tokens (B, patches, d), their sound y (B, samples), chosen (B, windows) -> (POSITIONS, frequencies, d); frequencies are
    the multiples of 400 Hz from 0.
    """
    patches, size = tokens.shape[1], 4 * PATCH
    padded = F.pad(y, ((size - PATCH) // 2,) * 2)
    power = torch.stft(padded, size, PATCH, window=torch.hann_window(size), center=False, return_complex=True).abs().square()
    power = F.avg_pool1d(F.pad(power.transpose(1, 2), (2, 2), mode="reflect"), 5, 4)
    power = F.avg_pool1d(power.transpose(1, 2), 33, 1, 16, count_include_pad=False).transpose(1, 2) + 1e-8 * size
    inside = torch.zeros(len(y), patches, dtype=torch.bool)
    for b, k in chosen.nonzero().tolist():
        inside[b, k * 16:k * 16 + 32] = True
    place = torch.arange(patches).expand(len(y), -1) % POSITIONS
    return torch.stack([torch.einsum("nf,nd->fd", power[at].rsqrt(), tokens[at]) / at.sum().clamp(min=1)
                        for at in (inside & (place == j) for j in range(POSITIONS))])


def pattern(weight, means):
    """Power of the sound that weight (PATCH, d) makes of what is common (`common`), relative to the noise's."""
    rows = torch.fft.rfft(weight, dim=0)
    return torch.einsum("fd,jfd->jf", rows, means.to(rows.dtype)).abs().square()[:, BAND].mean()


@torch.no_grad()
def segments(codec, pool, count, frames, batch=10):
    """count random segments through the codec -> originals (N, samples) and what the last projection reads (N, patches, d)."""
    xs, hs = [], []
    for _ in range(0, count, batch):
        x = pool.batch(batch, frames * HOP)
        codes = codec.quantizer.encode(codec.analyse(x[:, None].expand(-1, 2, -1)))
        hs.append(codec.last_tokens(codec.quantizer.decode(codes))[0])
        xs.append(x)
    return torch.cat(xs), torch.cat(hs)


def refine(weight, x, tokens, recogniser, steps, batch=10, rate=0.012, say=print):
    """Train weight (PATCH, d) for so many steps on tokens (N, patches, d) of the originals x (N, samples); -> a new one."""
    chosen = fricatives(x)
    means = common(tokens, (tokens @ weight.t()).flatten(1), chosen)
    mel, coarse = MelLoss("cpu"), coarse_loss("cpu")
    weight = nn.Parameter(weight.clone())
    size = float(weight.detach().square().mean().sqrt())
    opt = torch.optim.Adam([weight], betas=(0.9, 0.99))

    def compare(items):
        y, target = (tokens[items] @ weight.t()).flatten(1), x[items]
        out = dict(mel=mel(y, target), coarse=coarse(y, target), repeat=repetition_loss(y, target),
                   pattern=pattern(weight, means))
        if recogniser is not None:
            out["hear"] = recogniser_loss(recogniser, y, target)
        if chosen[items].any():
            out["lines"] = line_power(y, chosen[items])
        return out

    with torch.no_grad():
        first = compare(torch.randperm(len(x))[:4 * batch])
    say("at first", {k: round(float(v), 4) for k, v in first.items()})
    for step in range(steps):
        opt.param_groups[0]["lr"] = lr_at(step / steps, rate * size)
        losses = compare(torch.randperm(len(x))[:batch])
        opt.zero_grad()
        sum(WEIGHTS[k] * v / first[k].clamp(min=1e-9) for k, v in losses.items() if k in first).backward()
        opt.step()
        if step % 20 == 0:
            say("step", step, {k: round(float(v), 4) for k, v in losses.items()})
    with torch.no_grad():
        say("at last", {k: round(float(v), 4) for k, v in compare(torch.randperm(len(x))[:4 * batch]).items()})
    return weight.detach()


def run(codec_folder, shards, recogniser_file, out, count=250, frames=32, steps=160, say=print):
    """Refine the codec of a folder on count random segments of so many frames; writes the folder out."""
    codec, pool = read_codec(codec_folder), AudioPool(shards, "cpu", hours=4.0)
    pool.refresh(10 ** 6)
    recogniser = read_recogniser(recogniser_file) if recogniser_file else None
    x, tokens = segments(codec, pool, count, frames)
    last = codec.decoder[-2].output_proj
    with torch.no_grad():
        mono = last.weight.unflatten(0, (-1, 2)).mean(1)
    mono = mono.lerp(refine(mono, x, tokens, recogniser, steps, say=say), SHARE)
    with torch.no_grad():
        last.weight.copy_(mono.repeat_interleave(2, 0))
    write(out, codec.cfg, codec.state_dict())


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--codec", required=True, help="folder with config.json and model.safetensors")
    ap.add_argument("--shards", required=True)
    ap.add_argument("--recogniser", help="recogniser.pt")
    ap.add_argument("--segments", type=int, default=250)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--out", required=True, help="folder of the new codec")
    a = ap.parse_args()
    torch.manual_seed(1)
    run(a.codec, a.shards, a.recogniser, a.out, a.segments, steps=a.steps)


if __name__ == "__main__":
    main()
