"""Pitch of speech, and changing it apart from the formants (TD-PSOLA), on numpy.

Resampling moves pitch and formants together; some base voices have a pitch that cannot be set, and a language model that
has never heard their formants at another pitch takes one for the other. Moulines and Charpentier, "Pitch-synchronous
waveform processing techniques", Speech Communication 9 (1990).
"""
from __future__ import annotations

import numpy as np

from .tensors import RATE

LOW, HIGH = 55.0, 420.0  # Hz, the pitch that is looked for
HOP = 480                # samples between frames
UNVOICED = 240           # samples between marks where there is no pitch


def track(x):
    """48 kHz mono -> Hz for every 10 ms, 0 where the sound has no pitch; frame i is centred on sample 480 i."""
    from scipy.ndimage import median_filter
    from scipy.signal import resample_poly
    rate = 12000
    y = resample_poly(x, 1, RATE // rate).astype(np.float32)
    size, hop, n = 600, HOP * rate // RATE, 1 + len(x) // HOP
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(y, (size // 2, size + hop)), size)[::hop][:n]
    frames = frames - frames.mean(1, keepdims=True)
    window = np.hanning(size).astype(np.float32)
    f = np.fft.rfft(frames * window, 2048)
    r = np.fft.irfft(np.abs(f) ** 2)[:, :size]
    w = np.fft.irfft(np.abs(np.fft.rfft(window, 2048)) ** 2)[:size]
    energy = r[:, 0].copy()
    r = r / np.maximum(energy, 1e-9)[:, None] / (w / w[0])
    a, b = int(rate / HIGH), int(rate / LOW)
    inner = r[:, a:b]
    peak = (inner > r[:, a - 1:b - 1]) & (inner >= r[:, a + 1:b + 1])
    best = np.where(peak, inner, 0).max(1)
    first = (peak & (inner > 0.88 * best[:, None])).argmax(1)  # the shortest of the good lags: no octave below
    k, i = first + a, np.arange(n)
    left, mid, right = r[i, k - 1], r[i, k], r[i, k + 1]
    bend = left - 2 * mid + right
    lag = k + np.where(np.abs(bend) > 1e-6, 0.5 * (left - right) / np.where(bend == 0, 1, bend), 0)
    voiced = (best > 0.5) & (energy > 1e-4 * np.percentile(energy, 95))
    hz = np.where(voiced, rate / lag, 0)
    return np.where(voiced, median_filter(hz, 5), 0) * voiced


def marks(x, hz):
    """Samples at which grains are centred, rising: one each period on its highest peak, every 5 ms without pitch."""
    out, t, end = [], 0, len(x) - 1
    while t < end:
        f = hz[min(len(hz) - 1, t // HOP)]
        if f > 0:
            period = RATE / f
            reach = int((0.15 if out and hz[min(len(hz) - 1, out[-1] // HOP)] > 0 else 0.5) * period)
            a, b = max((out[-1] + int(0.6 * period)) if out else 0, t - reach), min(end, t + reach) + 1
            if b > a:
                t = a + int(np.argmax(x[a:b]))
            out.append(t)
            t += int(period)
        else:
            out.append(t)
            t += UNVOICED
    return np.array(out)


def repitch(x, mean, spread=1.0):
    """Speech with another pitch; length, formants and unvoiced sound stay.

    x: 48 kHz mono float. mean: Hz; half to twice the original's sounds well, and nothing beyond is done. spread: of the
    movement around the mean, on a logarithmic scale; 1 leaves the intonation as it is. -> float32 of the same length.
    """
    hz = track(x)
    if not (hz > 0).any():
        return x
    at = marks(x, hz)
    own = np.exp(np.log(hz[hz > 0]).mean())
    change = min(2.0, max(0.5, mean / own)) * (np.maximum(hz, 1) / own) ** (spread - 1)
    change = np.where(hz > 0, change.clip(0.4, 2.5), 1)
    gaps = np.diff(np.concatenate(([0], at, [len(x)])))
    out, t, longest = np.zeros(len(x) + RATE // 10, np.float32), float(at[0]), RATE // 50
    while t < at[-1]:
        k = int(np.searchsorted(at, t))
        k -= k > 0 and t - at[k - 1] < at[k] - t
        centre, left, right = at[k], min(gaps[k], longest), min(gaps[k + 1], longest)
        a, b = max(0, centre - left), min(len(x), centre + right)
        rise = np.arange(a - centre, 0) / left
        fall = np.arange(0, b - centre) / right
        grain = x[a:b] * np.concatenate((0.5 + 0.5 * np.cos(np.pi * rise), 0.5 + 0.5 * np.cos(np.pi * fall)))
        o = int(t) - (centre - a)
        if o < 0:
            grain, o = grain[-o:], 0
        out[o:o + len(grain)] += grain
        c = change[min(len(hz) - 1, centre // HOP)]
        t += max(40.0, (gaps[k + 1] if k + 1 < len(gaps) - 1 else UNVOICED) / c)
    return out[:len(x)]
