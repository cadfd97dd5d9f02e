"""Waveform helpers on numpy: files, resampling, tidying, and the damage real microphones do to references."""
from __future__ import annotations

import wave
from math import gcd

import numpy as np

from .tensors import RATE


def read_wav(path):
    """16-bit mono file -> (float32 samples in -1..1, rate)."""
    with wave.open(path) as w:
        x = np.frombuffer(w.readframes(w.getnframes()), np.int16)
        return x.astype(np.float32) / 32768, w.getframerate()


def write_wav(path, x, rate=RATE):
    """x: (samples,) or (channels, samples) float."""
    x = np.atleast_2d(np.asarray(x))
    with wave.open(path, "wb") as w:
        w.setnchannels(x.shape[0])
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes((np.clip(x, -1, 1).T * 32767).astype("<i2").tobytes())


def to_48k(x, rate):
    from scipy.signal import resample_poly
    g = gcd(int(rate), RATE)
    return resample_poly(x, RATE // g, int(rate) // g).astype(np.float32)


def tidy(x, lead=0.06, tail=0.18, level=0.085):
    """Trim outer silence (seconds kept), set the loudness of the active parts (RMS). 48 kHz mono; None if empty."""
    hop = 480
    n = len(x) // hop
    if n < 10:
        return None
    e = np.sqrt((x[:n * hop].reshape(n, hop) ** 2).mean(1) + 1e-12)
    ref = np.percentile(e, 95)
    loud = np.nonzero(e > max(0.02 * ref, 2e-4))[0]
    if ref < 1e-3 or len(loud) < 8:
        return None
    a = max(0, loud[0] * hop - int(lead * RATE))
    b = min(len(x), (loud[-1] + 1) * hop + int(tail * RATE))
    x = x[a:b] * (level / np.sqrt((e[loud] ** 2).mean()))
    peak = np.abs(x).max()
    if peak > 0.95:
        x = x * (0.95 / peak)
    f = min(240, len(x) // 4)
    x[:f] *= np.linspace(0, 1, f)
    x[-f:] *= np.linspace(1, 0, f)
    return x


def spoil(x, n, gen=None):
    """References as users record them: quiet, band-limited, coloured, roomy, noisy. Torch tensors, on any device.

    x (B, samples) float, n (B,) valid samples -> same shape; silence stays behind the end.
    """
    import torch
    import torch.nn.functional as F
    b, length, dev = x.shape[0], x.shape[1], x.device

    def rand(low, high):
        return torch.empty(b, 1, device=dev).uniform_(low, high, generator=gen)

    f = torch.fft.rfft(x)
    hz = torch.linspace(0, RATE / 2, f.shape[1], device=dev)[None]
    top = 10 ** rand(3.55, 4.35)            # 3.5 to 22 kHz
    low = rand(20, 280)
    curve = F.interpolate(torch.randn(b, 1, 9, device=dev, generator=gen) * 3.5, size=512, mode="linear",
                          align_corners=True)[:, 0]
    where = ((hz / (RATE / 2)).sqrt() * 511).long().expand(b, -1)
    gain = 10 ** (curve.gather(1, where) / 20) / (1 + (hz / top) ** 10) / (1 + (low / (hz + 1)) ** 4)
    x = torch.fft.irfft(f * gain, n=length)
    # a small room: exponentially decaying noise behind the direct sound
    taps = 9600
    t = torch.arange(taps, device=dev)[None] / RATE
    room = torch.randn(b, taps, device=dev, generator=gen) * torch.exp(-t / rand(0.01, 0.06)) * rand(0, 0.03)
    room[:, 0] = 1.0
    size = length + taps
    x = torch.fft.irfft(torch.fft.rfft(x, size) * torch.fft.rfft(room, size), n=size)[:, :length]
    x = x + torch.randn(b, length, device=dev, generator=gen) * 10 ** rand(-4.2, -2.5)
    x = x * 10 ** (rand(-22, 4) / 20)
    x = x / x.abs().amax(1, keepdim=True).clamp(min=0.99) * 0.99
    return x * (torch.arange(length, device=dev)[None] < n[:, None])
