"""The cast: which voices speak the training data, and how each one is made from a base voice.

A pseudo-speaker is a base voice with its own duration and pitch settings plus a resampling factor, which moves
formants and pitch together. The list is deterministic: ids are stored in the data.
"""
from __future__ import annotations

import random

READER = "iris"  # the public-domain human reader
CAST_SEED = 23


def speakers(seed=CAST_SEED) -> list[dict]:
    """The cast of the training data; with another seed its pseudo-speakers have other parameters.

    Fields: name, engine (hts, flite, festival, human), voice, n (share of utterances), s (resampling factor), stretch
    (duration), f0 and std (Hz), alpha (HTS frequency warping), preset, id; newcomers also pitch (Hz) and spread.
    """
    rng = random.Random(seed)
    out = []

    def add(name, engine, voice, n, s=1.0, stretch=1.0, f0=None, std=None, alpha=None, preset=False):
        out.append(dict(name=name, engine=engine, voice=voice, n=n, s=s, stretch=stretch, f0=f0, std=std,
                        alpha=alpha, preset=preset))

    def both(low, high):
        return rng.uniform(low, high)

    add("clara", "hts", "slt", 120, preset=True)
    add("nora", "hts", "slt", 80, s=0.9, alpha=0.45, preset=True)
    add("emma", "flite", "slt", 80, preset=True)
    add("mia", "flite", "slt", 70, s=1.06, stretch=1.05, f0=192, preset=True)
    add("ryan", "flite", "rms", 80, preset=True)
    add("otto", "flite", "rms", 70, s=0.9, stretch=0.95, preset=True)
    add("angus", "flite", "awb", 80, preset=True)
    add("kal", "flite", "kal16", 40, preset=True)
    add("ked", "festival", "ked_diphone", 20)
    for i in range(36):
        add(f"h{i:02d}", "hts", "slt", 5, s=both(0.74, 1.16), stretch=both(0.86, 1.16), alpha=round(both(0.38, 0.52), 2))
    for i in range(34):
        s = both(0.80, 1.18)
        add(f"s{i:02d}", "flite", "slt", 5, s=s, stretch=both(0.86, 1.16), f0=both(130, 235) / s, std=both(10, 32))
    for i in range(34):
        add(f"r{i:02d}", "flite", "rms", 5, s=both(0.82, 1.34), stretch=both(0.84, 1.16))
    for i in range(30):
        s = both(0.80, 1.26)
        add(f"a{i:02d}", "flite", "awb", 5, s=s, stretch=both(0.86, 1.16), f0=both(85, 185) / s, std=both(10, 28))
    for i in range(6):
        s = both(0.86, 1.24)
        add(f"k{i:02d}", "flite", "kal16", 3, s=s, stretch=both(0.9, 1.12), f0=both(80, 150) / s)
    for i in range(6):
        add(f"d{i:02d}", "festival", "ked_diphone", 3, s=both(0.86, 1.22), stretch=both(0.9, 1.12))
    add(READER, "human", "reader", 0, preset=True)
    for i, s in enumerate((0.86, 0.9, 0.94, 1.06, 1.12)):  # the reader, resampled
        add(f"w{i:02d}", "human", "reader", 0, s=s)
    for i, sp in enumerate(out):
        sp["id"] = i
    return out


# What newcomers are drawn from, by engine and voice: resampling factor, pitch in Hz as heard, and spread of intonation.
# Pitch moves 1 to 2.6 semitones (standard deviation) in a synthesizer's sentence and 2.3 to 5.6 in what people record.
WIDE, HUMAN = (0.8, 2.6), (0.6, 1.5)
NEWCOMERS = {("hts", "slt"): ((0.72, 1.24), (105, 330), WIDE), ("flite", "slt"): ((0.76, 1.28), (105, 330), WIDE),
             ("flite", "rms"): ((0.80, 1.34), (68, 230), WIDE), ("flite", "awb"): ((0.78, 1.30), (75, 250), WIDE),
             ("flite", "kal16"): ((0.84, 1.28), (75, 190), WIDE),
             ("festival", "ked_diphone"): ((0.84, 1.26), (75, 190), WIDE),
             ("human", "reader"): ((0.76, 1.24), (95, 330), HUMAN)}
STEADY = 0.1  # standard deviation of pitch, of the mean, that a synthesizer is set to for a spread of 1
SETTABLE = {("flite", "slt"), ("flite", "awb"), ("flite", "kal16")}  # whose synthesizer takes a pitch itself
FIRST_NEWCOMER = 1000


def newcomer(sp, number, rng) -> dict:
    """A pseudo-speaker of sp's base voice whose parameters nobody has, with the id FIRST_NEWCOMER + number.

    The cast is few enough to be known by heart; thousands of speakers of some twenty sentences each teach to follow a
    reference instead. Pitch is drawn apart from the formants for every voice, so that neither tells of the other: where
    the synthesizer cannot set it, `pitch` (Hz) and `spread` say how the recording is changed (pitch.repitch).
    """
    (low, high), (deep, bright), spreads = NEWCOMERS[sp["engine"], sp["voice"]]
    s, hz, spread = rng.uniform(low, high), deep * (bright / deep) ** rng.random(), rng.uniform(*spreads)
    settable = (sp["engine"], sp["voice"]) in SETTABLE
    return dict(sp, name=f"x{number}", id=FIRST_NEWCOMER + number, s=s, stretch=rng.uniform(0.84, 1.16), preset=False,
                f0=hz / s if settable else None, std=STEADY * spread * hz / s if settable else None,
                pitch=None if settable else hz, spread=spread,
                alpha=round(rng.uniform(0.38, 0.52), 2) if sp["engine"] == "hts" else None)


def unseen(count, seed=CAST_SEED + 1) -> list[dict]:
    """`count` pseudo-speakers that no training has heard: parameters from the same ranges, at most 146."""
    others = [s for s in speakers(seed) if not s["preset"] and s["engine"] != "human" and s["name"] != "ked"]
    return random.Random(seed).sample(others, count)
