"""Tiny sizes shared by the tests. Everything runs on one CPU thread in seconds."""
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

try:
    import numpy as np
    import torch
    torch.set_num_threads(1)
except ImportError:  # pragma: no cover
    raise unittest.SkipTest("the training tests need PyTorch and numpy (Debian: python3-torch, python3-numpy)")

from sonant_training.codec import Codec, codec_config  # noqa: E402
from sonant_training.lm import MossLM, lm_config  # noqa: E402


def tiny_codec(seed=0):
    """A codec with the real patch sizes and windows of 0.16 to 0.64 s."""
    torch.manual_seed(seed)
    cfg = codec_config(d_model=16, heads=2, layers=(1, 1, 1, 1), mid=16, contexts=(0.16, 0.32, 0.64, 0.64), rvq_dim=16)
    return Codec(cfg, init_scale=0.5).eval()


def tiny_lm(seed=0):
    torch.manual_seed(seed)
    return MossLM(lm_config(hidden=32, heads=2, layers=2, vocab=64))


def tone(seconds, seed=0):
    """A vowel-like mono signal, (samples,) at 48 kHz."""
    rng = random.Random(seed)
    t = torch.arange(int(seconds * 48000)) / 48000
    return sum(0.2 / k * torch.sin(6.2831853 * k * 120 * t + rng.random()) for k in range(1, 8))


def buzz(hz, seconds):
    """A voice-like mono signal of the given pitch: harmonics up to 3 kHz, falling by 6 dB an octave."""
    t = torch.arange(int(seconds * 48000)) / 48000
    return 0.1 * sum(torch.cos(6.2831853 * k * hz * t) / k for k in range(1, 3000 // hz))


__all__ = ["buzz", "json", "np", "os", "torch", "unittest", "tiny_codec", "tiny_lm", "tone"]
