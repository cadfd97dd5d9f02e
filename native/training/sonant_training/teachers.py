"""Teacher synthesis in worker processes: sentences in, shards of 48 kHz speech out.

Needs the programs `flite` and `festival` on the PATH (and `opusdec` for the human recordings).
Usage: python3 -m sonant_training.teachers {generate,heldout,unseen} --texts TEXTS.json --out DIR [--human DIR]
"""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import time

import numpy as np

from .audio import read_wav, tidy, to_48k, write_wav
from .grammar import Grammar
from .pitch import repitch
from .shards import write_shard
from .speakers import READER, newcomer, speakers, unseen
from .tensors import RATE

SHARE = "/usr/share/festival"


def run(cmd):
    try:
        subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=90)
    except subprocess.TimeoutExpired:
        pass


def flite(sp, texts, tmp):
    for i, t in enumerate(texts):
        cmd = ["flite", "-voice", sp["voice"], "--setf", f"duration_stretch={sp['stretch'] * sp['s']:.3f}"]
        if sp["f0"]:
            cmd += ["--setf", f"int_f0_target_mean={sp['f0']:.1f}"]
        if sp["std"]:
            cmd += ["--setf", f"int_f0_target_stddev={sp['std']:.1f}"]
        run(cmd + ["-t", t, "-o", f"{tmp}/{i}.wav"])
        yield i, f"{tmp}/{i}.wav"


def festival(sp, texts, tmp):
    stretch = sp["stretch"] * sp["s"]
    if sp["engine"] == "hts":
        src = f"{SHARE}/voices/us/cmu_us_slt_arctic_hts/hts/cmu_us_slt_arctic_hts.htsvoice"
        if sp["alpha"] is not None:
            b = open(src, "rb").read().replace(b"ALPHA=0.45", b"ALPHA=%.2f" % sp["alpha"], 1)
            src = f"{tmp}/v.htsvoice"
            open(src, "wb").write(b)
        scm = ["(voice_cmu_us_slt_arctic_hts)",
               f"(set! hts_engine_params (list (list \"-m\" \"{src}\") '(\"-g\" 0.0) '(\"-b\" 0.0) '(\"-u\" 0.5) "
               f"(list \"-r\" {1 / stretch:.4f})))"]
    else:
        scm = [f"(voice_{sp['voice']})", f"(Parameter.set 'Duration_Stretch {stretch:.3f})"]
    for i, t in enumerate(texts):
        t = t.replace("\\", "").replace('"', "")
        scm.append(f"(utt.save.wave (SynthText \"{t}\") \"{tmp}/{i}.wav\" 'riff)")
    open(f"{tmp}/run.scm", "w").write("\n".join(scm))
    run(["festival", "-b", f"{tmp}/run.scm"])
    for i in range(len(texts)):
        yield i, f"{tmp}/{i}.wav"


def scratch():
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def heard(sp, x, rate):
    """A base voice's samples as the speaker sp sounds: resampled, and with a newcomer's pitch; 48 kHz."""
    x = to_48k(x, round(rate * sp["s"] / 800) * 800)
    return repitch(x, sp["pitch"], sp["spread"]) if sp.get("pitch") else x


def synthesise(sp, texts):
    """Yields (index, 48 kHz audio) for the texts that worked and came out at a plausible length."""
    with scratch() as tmp:
        for i, path in (flite if sp["engine"] == "flite" else festival)(sp, texts, tmp):
            if not os.path.exists(path):
                continue
            try:
                x, r = read_wav(path)
            except Exception:
                continue
            os.unlink(path)
            x = tidy(heard(sp, x, r)) if len(x) > 2000 else None
            if x is None or not 0.2 < len(x) / RATE < 14 or not 3 < len(texts[i]) / (len(x) / RATE) < 34:
                continue
            yield i, x


def plan(texts, total, seed=5, step=20, newcomers=0.85):
    """Jobs (speaker, sentences), shuffled so that any prefix is balanced.

    A job of a pseudo-speaker goes to a newcomer with the given probability.
    """
    rng = random.Random(seed)
    cast = [s for s in speakers() if s["engine"] != "human"]
    share = sum(s["n"] for s in cast)
    grammar = Grammar(rng, banned={t["s"] for t in texts["held"]})
    main = texts["ex"] + texts["fo"] + texts["gl"][:40000]
    jobs = []

    def draw():
        u = rng.random()
        if u < 0.08:
            return rng.choice(texts["short"])
        if u < 0.14:
            return grammar.phrase()
        if u < 0.42:
            return grammar.sentence()
        if u < 0.47:
            return grammar.pair()
        if u < 0.50:
            return rng.choice(texts["tm"])
        return rng.choice(main)

    for s in cast:
        n = int(total * s["n"] / share)
        mine = [draw() for _ in range(n)]
        for i in range(0, n, step):
            new = not s["preset"] and rng.random() < newcomers
            jobs.append((newcomer(s, len(jobs), rng) if new else s, mine[i:i + step]))
    rng.shuffle(jobs)
    return jobs


def _job(args):
    return args[0](args[1:])


def spoken_shard(args):
    """Sentences by one synthetic speaker: a shard `s*`, unless time is over."""
    out, k, sp, texts, stop_at = args
    if time.time() > stop_at or os.path.exists(f"{out}/STOP"):
        return 0
    items = [(sp["id"], texts[i], x) for i, x in synthesise(sp, texts)]
    if items:
        write_shard(out, f"s{k:06d}", items)
    return len(items)


HELD_READER = 12  # every 32nd clip of the reader is kept for evaluation


def reader_clips(folder):
    """[(clip name, text)] of a folder with NAME.opus files and transcripts.txt (`name|text`)."""
    lines = [x.rstrip("\n").split("|") for x in open(f"{folder}/transcripts.txt", encoding="utf8") if "|" in x]
    return [(x[0], x[-1]) for x in sorted(lines)]


def sentence_case(t):
    t = t.strip().rstrip(",;:")
    return t[0].upper() + t[1:] + ("" if t[-1] in ".!?" else ".")


def pieces(text, x, pauses, rng):
    """Cuts a clip at some of its pauses -> [(text, samples)]; pauses: [[seconds, tokens before the pause]]."""
    tokens, out, at, said = text.split(), [], 0, 0
    for seconds, n in [p for p in pauses if rng.random() < 0.6] + [[len(x) / RATE, len(tokens)]]:
        end = int(seconds * RATE)
        if n < len(tokens) and min(end - at, len(x) - end) < 0.6 * RATE:
            continue
        part = " ".join(tokens[said:n])
        out.append((part[0].upper() + part[1:] if n < len(tokens) else sentence_case(part), x[at:end]))
        at, said = end, n
    return out


CLIPS_OF_A_NEWCOMER = 90
FIRST_OF_READER = 20000  # numbers of newcomers made of the reader, above those of any plan


def varied_shard(args):
    """The reader's clips once more, by her or a speaker made of her: cut at pauses, a little faster or slower, shifted.

    A clip of which the language model has seen one sequence of codes is soon known by heart; every variation has others.
    A newcomer speaks some of the clips, all with its own pitch: with these voices the model learns that there are more
    human ones than it knows.
    """
    out, folder, sp, pauses, k = args
    rng, items = random.Random(1000 * sp["id"] + k), []
    clips = [c for i, c in enumerate(reader_clips(folder)) if i % 32 != HELD_READER]
    new = bool(sp.get("pitch"))
    with scratch() as tmp:
        for name, text in rng.sample(clips, min(len(clips), CLIPS_OF_A_NEWCOMER)) if new else clips:
            run(["opusdec", "--quiet", "--rate", "48000", f"{folder}/{name}.opus", f"{tmp}/a.wav"])
            x, r = read_wav(f"{tmp}/a.wav")
            for part, y in pieces(text, x, pauses.get(name, ()), rng):
                y = heard(dict(sp, s=sp["s"] * rng.uniform(0.965, 1.035)), y, r)
                y = tidy(y, lead=rng.uniform(0.02, 0.1), tail=rng.uniform(0.14, 0.22))
                if y is not None and len(y) < 14 * RATE:
                    items.append((sp["id"], part, y))
    write_shard(out, f"{'human' if new else 'near'}_{sp['name']}_{k:02d}", items)
    return len(items)


def human_shard(args):
    """The reader's clips by one of the cast: a shard `human*` or `near*`, and for the reader the held-out clips."""
    out, folder, sp = args
    train, held = [], []
    with scratch() as tmp:
        for k, (name, text) in enumerate(reader_clips(folder)):
            is_held = k % 32 == HELD_READER
            if is_held and sp["name"] != READER:
                continue
            run(["opusdec", "--quiet", "--rate", "48000", f"{folder}/{name}.opus", f"{tmp}/a.wav"])
            x, r = read_wav(f"{tmp}/a.wav")
            x = tidy(heard(sp, x, r))
            if x is not None and len(x) < 14 * RATE:
                (held if is_held else train).append((sp["id"], sentence_case(text), x))
    write_shard(out, ("human" if sp["name"] == READER else "near") + sp["name"], train)
    if held:
        os.makedirs(f"{out}_reader", exist_ok=True)
        write_shard(f"{out}_reader", "held_" + READER, held)
    return sp["name"], len(train), len(held)


def generate(a):
    from multiprocessing import Pool
    os.makedirs(a.out, exist_ok=True)
    stop_at = time.time() + a.seconds
    with Pool(a.workers) as pool:
        cast = [s for s in speakers() if s["engine"] == "human"] if a.human else []
        human = [pool.apply_async(human_shard, ((a.out, a.human, s),)) for s in cast]
        jobs = [(spoken_shard, a.out, k, s, t, stop_at)
                for k, (s, t) in enumerate(plan(json.load(open(a.texts)), a.total, a.seed))]
        if a.pauses:
            found, rng = json.load(open(a.pauses)), random.Random(a.seed)
            reader = next(s for s in cast if s["name"] == READER)
            more = [(varied_shard, a.out, a.human, s, found, k) for k in range(a.variations) for s in cast
                    if s is reader or k % 6 == 0]
            more += [(varied_shard, a.out, a.human, newcomer(reader, FIRST_OF_READER + k, rng), found, k)
                     for k in range(a.readers)]
            rng.shuffle(more)
            for k, job in enumerate(more):  # they take long: two in three jobs of the beginning are others
                jobs.insert(30 + 3 * k, job)
        n = 0
        for i, c in enumerate(pool.imap_unordered(_job, jobs)):
            n += c
            if i % 200 == 0:
                print(f"{time.time() - stop_at + a.seconds:.0f}s jobs {i}/{len(jobs)} utterances {n}", flush=True)
        print("human", [h.get() for h in human], flush=True)
    print("done", n, flush=True)
    open(f"{a.out}/DONE", "w").write(str(n))


def _held(args):
    out, sp, texts, wavs = args
    items = []
    for i, x in synthesise(sp, texts):
        items.append((sp["id"], texts[i], x))
        if wavs:
            write_wav(f"{out}/{sp['name']}_{i:03d}.wav", x)
    write_shard(out, f"held_{sp['name']}", items)
    return len(items)


def held_texts(path):
    """Held-out sentences of a file made by the module texts, or of a model's heldout.json."""
    found = json.load(open(path))
    return [t["text"] for t in found] if isinstance(found, list) else [t["s"] for t in found["held"]]


def heldout(a):
    """Teacher audio of the held-out sentences by every synthetic preset voice (shards, and wavs on request)."""
    from multiprocessing import Pool
    texts = held_texts(a.texts)[:a.total]
    os.makedirs(a.out, exist_ok=True)
    with Pool(a.workers) as pool:
        cast = [s for s in speakers() if s["preset"] and s["engine"] != "human"]
        print(pool.map(_held, [(a.out, s, texts, a.wavs) for s in cast]))


REFERENCE_LETTERS = (65, 95)  # a sentence of about five seconds


def unseen_references(a):
    """One recording each by `total` pseudo-speakers that no training has heard: NAME.wav, for clone tests."""
    texts = [t for t in held_texts(a.texts) if REFERENCE_LETTERS[0] <= len(t) <= REFERENCE_LETTERS[1]]
    os.makedirs(a.out, exist_ok=True)
    for k, s in enumerate(unseen(a.total)):
        for _, x in synthesise(s, [texts[k % len(texts)]]):
            write_wav(f"{a.out}/{s['name']}.wav", x)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("mode", choices=["generate", "heldout", "unseen"])
    ap.add_argument("--texts", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--human", help="folder of the reader's clips with transcripts.txt")
    ap.add_argument("--pauses", help="with --human: result of the module pauses; adds variations of the reader's clips")
    ap.add_argument("--variations", type=int, default=20)
    ap.add_argument("--readers", type=int, default=100, help="with --pauses: newcomers made of the reader")
    ap.add_argument("--workers", type=int, default=14)
    ap.add_argument("--seconds", type=float, default=600)
    ap.add_argument("--total", type=int, default=110000, help="utterances; heldout: sentences; unseen: speakers")
    ap.add_argument("--seed", type=int, default=5, help="another seed, other sentences for each speaker")
    ap.add_argument("--wavs", type=int, default=0)
    a = ap.parse_args()
    dict(generate=generate, heldout=heldout, unseen=unseen_references)[a.mode](a)


if __name__ == "__main__":
    main()
