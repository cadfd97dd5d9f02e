"""What the codec is trained against: mel distances, repeated noise, pitch, discriminators and a recogniser's view.

All inputs are mono waveforms (B, samples) at 48 kHz.
"""
from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from .codec_layers import weight_norm
from .tensors import RATE

PATCH = 120  # mono samples per decoder token: faults at its edges sound as lines at multiples of 400 Hz


def mel_filters(bins, low, high, count, rate=RATE):
    """Triangular filters on the HTK mel scale, (bins, count)."""
    hz = torch.linspace(0, rate / 2, bins)

    def mel(f):
        return 2595.0 * math.log10(1.0 + f / 700.0)

    edges = torch.linspace(mel(low), mel(high), count + 2)
    edges = 700.0 * (10 ** (edges / 2595.0) - 1.0)
    up = (hz[:, None] - edges[None, :-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[None, 2:] - hz[:, None]) / (edges[2:] - edges[1:-1])
    return torch.minimum(up, down).clamp(min=0)


FLOOR = 3e-4  # amplitude (-70 dBFS) of the white noise below which mel distances do not look


class MelLoss(nn.Module):
    """Mean log and relative linear distance over several resolutions: (window in samples, bands from `low` to `top` Hz).

    A floor is added before the logarithm. Without it nine tenths of the gradient go to what nobody hears: the
    residues of resampling above the band of a synthesizer, at -80 to -100 dBFS.
    """

    def __init__(self, device, sizes=((128, 10), (256, 20), (512, 40), (1024, 80), (2048, 160)), top=RATE / 2, low=0.0):
        super().__init__()
        self.items = []
        for n, m in sizes:
            fb = mel_filters(n // 2 + 1, low, top, m).to(device)
            self.items.append((n, torch.hann_window(n, device=device), fb, FLOOR * math.sqrt(0.375 * n) * fb.sum(0)))

    def forward(self, x, y):
        total = 0.0
        for n, w, fb, floor in self.items:
            a, b = (torch.stft(v, n, n // 4, n, w, return_complex=True).abs().transpose(1, 2) @ fb for v in (x, y))
            linear = (a - b).abs().mean() / b.mean().clamp(min=1e-4)
            total = total + ((a + floor).log() - (b + floor).log()).abs().mean() + 0.3 * linear
        return total / len(self.items)


def coarse_loss(device):
    """A mel distance with the few wide bands of a recogniser, above the lowest harmonics: where words are told apart."""
    return MelLoss(device, ((1280, 20),), top=8000.0, low=700.0)


def line_energy(x, patches=40, group=6):
    """Energy at multiples of 400 Hz in windows of `patches` patches: (B, windows, bands of `group` lines).

    Folding a window at the patch period averages away everything that does not repeat with it.
    """
    x = x[:, 1:] - 0.9 * x[:, :-1]  # lift the high frequencies, where fricatives live
    n = x.shape[1] // (patches * PATCH // 2) * (patches * PATCH // 2)
    half = x[:, :n].reshape(x.shape[0], -1, patches // 2, PATCH).mean(2)
    fold = 0.5 * (half[:, 1:] + half[:, :-1])
    lines = torch.view_as_real(torch.fft.rfft(fold.float(), dim=-1)).square().sum(-1)[..., 1:]
    return lines.unflatten(-1, (-1, group)).mean(-1)


BANDS = ((2000, 4400), (4400, 9200), (9200, 16400))  # Hz; widths are multiples of 400, so a patch is whole samples
LAGS = (1, 2, 4, 8, 16, 24, 32)  # patches: 2.5 to 80 ms
HALF = 8  # patches; windows are two halves, 40 ms, and overlap by one


def repetition(x):
    """How much a signal repeats itself: correlation with what it was some patches earlier.

    x (B, samples), a multiple of a patch -> list over LAGS of (B, windows, bands) in 0 to 1 (independent noise has some
    0.1), and the windows' energies (B, windows, bands). Each band is cut out of the spectrum and kept at its own width
    as a sampling rate, complex, so that the correlation does not depend on phase.
    """
    b, n = x.shape
    spectrum, parts = torch.fft.rfft(x.float()), []
    for low, high in BANDS:
        at, width = low * n // RATE, (high - low) * n // RATE
        z = torch.fft.ifft(spectrum[:, at:at + width], width) * (width / n)
        parts.append(torch.view_as_real(z).view(b, n // PATCH, -1, 2))
    sizes = [p.shape[2] for p in parts]
    z = torch.cat(parts, 2)

    def windows(v):
        """(B, patches, samples of all bands) -> sums (B, windows, bands)."""
        v = torch.stack([u.sum(-1) for u in v.split(sizes, -1)], -1)
        v = v[:, :v.shape[1] // HALF * HALF].unflatten(1, (-1, HALF)).sum(2)
        return v[:, 1:] + v[:, :-1]

    out, power = [], z.square().sum(-1)
    for lag in LAGS:
        now, then = z[:, lag:], z[:, :-lag]
        same = windows((now * then).sum(-1))
        turned = windows(now[..., 1] * then[..., 0] - now[..., 0] * then[..., 1])
        both = windows(power[:, lag:]) * windows(power[:, :-lag])
        out.append(((same.square() + turned.square() + 1e-14) / (both + 1e-12)).sqrt())
    return out, windows(power)


def repetition_loss(y, x, margin=0.06):
    """How far y repeats itself more, or less, than its target x does, beyond what two noises differ by."""
    (a, _), (b, energy) = repetition(y), repetition(x)
    loud = energy / (energy + 2e-5)
    total = 0.0
    for u, v in zip(a, b):
        w = loud[:, -u.shape[1]:]
        total = total + (F.relu((u - v).abs() - margin) * w).sum() / w.sum().clamp(min=1.0)
    return total / len(LAGS)


VOICE_BAND = (60, 1500)      # Hz, where the harmonics are strongest
VOICE_RATE = 6000            # samples a second that this band is kept at
VOICE_WINDOW, VOICE_HOP = 300, 75  # 50 ms, 12.5 ms
PERIODS = (15, 120)          # samples: 2.5 to 20 ms, pitches of 400 to 50 Hz


def periodicity(x):
    """Normalised autocorrelation of the low frequencies over the periods of a voice.

    x (B, samples), a multiple of 8 -> (B, windows, periods), 1 for what repeats exactly, and the windows' mean squares
    (B, windows).
    """
    n = x.shape[1]
    spectrum = torch.fft.rfft(x.float())
    low, high = (f * n // RATE for f in VOICE_BAND)
    band = F.pad(spectrum[:, low:high], (low, 0))
    small = torch.fft.irfft(band, n * VOICE_RATE // RATE) * (VOICE_RATE / RATE)
    window = torch.hann_window(VOICE_WINDOW, device=x.device)
    size = VOICE_WINDOW + PERIODS[1]

    def correlate(v):
        return torch.fft.irfft(torch.view_as_real(torch.fft.rfft(v, size)).square().sum(-1), size)

    r = correlate(small.unfold(1, VOICE_WINDOW, VOICE_HOP) * window)
    own = correlate(window[None])
    own = own[:, slice(*PERIODS)] / own[:, :1]
    energy = r[..., :1] / window.square().sum()
    return r[..., slice(*PERIODS)] / (r[..., :1] + 1e-6) / own, energy[..., 0]


def periodicity_loss(y, x, items=None, margin=0.1):
    """How differently y and its target x repeat themselves after the periods of a voice: wrong pitch, lost voicing.

    items: weight of each (B,). Mel distances hardly see it for low voices: their longest window, 43 ms, does not
    resolve harmonics 100 Hz apart.
    """
    (a, _), (b, energy) = periodicity(y), periodicity(x)
    w = energy / (energy + 1e-5)
    w = w if items is None else w * items[:, None]
    return (F.relu((a - b).abs() - margin).mean(-1) * w).sum() / w.sum().clamp(min=1.0)


def fundamental_loss(y, x, items=None, size=1024, top=500):
    """Distance of the waveforms below `top` Hz, phases included, relative to the target's: 1 if y is silent.

    items: weight of each (B,). Nothing else tells the encoder to write down where in its period a voice is. A decoder
    that is not told begins each of its tokens of 20 ms alike, and every pitch comes out as the nearest multiple of
    50 Hz.
    """
    window, bins = torch.hann_window(size, device=x.device), slice(1, top * size // RATE + 1)
    a, b = (torch.view_as_real(torch.stft(v.float(), size, size // 4, size, window, return_complex=True))[:, bins]
            for v in (y, x))
    off, loud = ((a - b).square().sum(-1) + 1e-6).sqrt().mean((1, 2)), b.square().sum(-1).sqrt().mean((1, 2))
    if items is not None:
        off, loud = off * items, loud * items
    return off.mean() / loud.mean().clamp(min=1e-3)


def balanced(losses, weights, y, tokens, enough=None):
    """One gradient out of several losses, each with the given share whatever its own size.

    As measured at the weights of the last projection, y (B, samples) being its output for tokens (B, patches, d): a
    loss whose gradient is large at single samples need not be large there. enough: {name: value} below which a loss
    loses its share, by the square: it helps others to begin and then goes. -> (gradient (B, samples), norms there).
    """
    total, norms, flat = 0.0, {}, tokens.flatten(0, 1).float()
    names = [k for k in weights if k in losses]
    for k in names:
        g, = torch.autograd.grad(losses[k], y, retain_graph=k != names[-1])
        norms[k] = (g.reshape(-1, PATCH).t() @ flat).norm()
        share = weights[k]
        if enough and k in enough:
            share = share * (losses[k].detach() / enough[k]).clamp(max=1) ** 2
        total = total + g * (share / norms[k].clamp(min=1e-12))
    return total, norms


def conv2(*a, **k):
    return weight_norm(nn.Conv2d(*a, **k))


class PeriodDisc(nn.Module):
    """Looks at every p-th sample."""

    def __init__(self, p, ch=(1, 16, 64, 128, 128)):
        super().__init__()
        self.p = p
        self.convs = nn.ModuleList([conv2(i, o, (5, 1), (3, 1), (2, 0)) for i, o in zip(ch, ch[1:])])
        self.last = conv2(ch[-1], 1, (3, 1), 1, (1, 0))

    def forward(self, x):
        x = F.pad(x, (0, -x.shape[-1] % self.p))
        x = x.view(x.shape[0], 1, -1, self.p)
        maps = []
        for c in self.convs:
            x = F.leaky_relu(c(x), 0.1)
            maps.append(x)
        return self.last(x), maps


class PatchDisc(nn.Module):
    """Looks at whole patches: rows are patches, columns the 120 samples inside (crops start on a patch edge)."""

    def __init__(self, ch=32):
        super().__init__()
        self.convs = nn.ModuleList([conv2(1, ch, (5, 9), (1, 2), (2, 4)), conv2(ch, ch, (5, 9), (2, 2), (2, 4)),
                                    conv2(ch, 2 * ch, (5, 5), (2, 2), (2, 2)),
                                    conv2(2 * ch, 2 * ch, (5, 3), (2, 1), (2, 1))])
        self.last = conv2(2 * ch, 1, (3, 3), 1, (1, 1))

    def forward(self, x):
        x = x.reshape(x.shape[0], 1, -1, PATCH)
        maps = []
        for c in self.convs:
            x = F.leaky_relu(c(x), 0.1)
            maps.append(x)
        return self.last(x), maps


class StftDisc(nn.Module):
    def __init__(self, n, ch=24):
        super().__init__()
        self.n = n
        self.convs = nn.ModuleList([conv2(2, ch, (3, 9), (1, 2), (1, 4))] +
                                   [conv2(ch, ch, (3, 9), (1, 2), (d, 4), dilation=(d, 1)) for d in (1, 2, 4)] +
                                   [conv2(ch, ch, (3, 3), 1, (1, 1))])
        self.last = conv2(ch, 1, (3, 3), 1, (1, 1))
        self.register_buffer("win", torch.hann_window(n), persistent=False)

    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            s = torch.stft(x.float(), self.n, self.n // 4, self.n, self.win, return_complex=True, normalized=True)
            s = torch.view_as_real(s).permute(0, 3, 2, 1).contiguous()
        maps = []
        for c in self.convs:
            s = F.leaky_relu(c(s), 0.2)
            maps.append(s)
        return self.last(s), maps


class Discriminators(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([PeriodDisc(p) for p in (2, 3, 5, 7, 11)] + [PatchDisc()] +
                                 [StftDisc(n) for n in (2048, 1024, 512)])

    def forward(self, x):
        return [d(x) for d in self.all]


def crop(x, y, length):
    """The same random window of both signals, starting on a patch edge (random numbers drawn on the device)."""
    o = (torch.rand(x.shape[0], 1, device=x.device) * ((x.shape[1] - length) // PATCH)).long() * PATCH
    i = o + torch.arange(length, device=x.device)
    return x.gather(1, i), y.gather(1, i)


def recogniser_loss(recogniser, y, x):
    """How differently a frozen recogniser hears y and its target x: hidden features and letter probabilities."""
    with torch.no_grad():
        feats_x, logp_x = recogniser.features(x)
    feats_y, logp_y = recogniser.features(y)
    near = sum((a.float() - b.float()).abs().mean() / b.float().abs().mean() for a, b in zip(feats_y, feats_x))
    letters = (logp_x.exp() * (logp_x - logp_y)).sum(-1).mean()
    return near / len(feats_y) + 0.5 * letters
