"""Collects training sentences: WordNet examples and glosses, fortunes, templates and single words.

Needs Debian's wordnet-base and fortunes. Result: lists ex, gl, fo, tm, short, and held, sentences that never reach
training. Usage: python3 -m sonant_training.texts OUT.json [--held OLD_TEXTS.json]
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import random
import re

from .grammar import WORDS, Grammar
from .numbers import cardinal

ALLOWED = re.compile(r"^[A-Za-z0-9 ,.'?!;:\-]+$")
RUDE = re.compile(r"\b(fuck|shit|cunt|nigger|rape|whore|bitch|sex|penis|vagina|nazi|kill|murder|suicide|faggot|slut|"
                  r"breast|testic|genital|semen)", re.I)
SKIPPED_FORTUNES = {"art", "ascii-art", "ethnic", "men-women", "tao", "translate-me", "zippy", "songs-poems", "startrek"}
SHORT = ("Yes.|No.|Okay.|Hello.|Hi.|Hi there.|Good morning.|Good night.|Goodbye.|Thank you.|Sorry.|Please wait.|Done.|Ready.|"
         "Stop.|Go ahead.|Try again.|Of course.|Sure.|I see.|Well done.|Welcome.|Next.|Cancel.|Continue.|Help.|Play.|Pause.|"
         "Loading.|Listening.|Recording.|Come in.|Let's go.|What?|Why not?|Really?|How are you?|Excuse me.|Never mind.|"
         "No problem.|Good luck.|Take care.|All right.|I agree.|I don't know.|It works.").split("|")


def plain(s):
    s = s.replace("\u2019", "'").replace("`", "'").replace("--", ", ").replace(" ,", ",")
    return re.sub(r"\s+", " ", s).strip(" \"'-;,:")


def speakable(s, low=3, high=25):
    w = s.split()
    return bool(ALLOWED.match(s)) and low <= len(w) <= high and len(s) <= 170 and max(map(len, w)) <= 17 \
        and sum(c.isdigit() for c in s) <= 4 and not RUDE.search(s) \
        and not re.search(r"[A-Z]{4,}|\b[a-z]\.[a-z]\.|\d[a-z]|[a-z]\d|''|\.\.|- | -|'s's", s) \
        and not re.search(r"[bcdfghjklmnpqrstvwxz]{6,}", s.lower())


def wordnet(folder="/usr/share/wordnet"):
    """-> (examples, glosses, frequent words)."""
    examples, glosses, words = set(), set(), set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in open(f"{folder}/data.{part}", encoding="latin1"):
            if "|" not in line or line.startswith("  "):
                continue
            g = line.split("|", 1)[1].strip()
            examples.update(s for s in map(plain, re.findall(r'"([^"]+)"', g)) if speakable(s))
            d = plain(re.sub(r"\([^)]*\)", "", g.split('"')[0]).split(";")[0])
            if speakable(d, 4, 22):
                glosses.add(d)
    for part in ("noun", "verb", "adj"):
        for line in open(f"{folder}/index.{part}", encoding="latin1"):
            p = line.split()
            if p and p[0].isalpha() and 3 <= len(p[0]) <= 10 and len(p) > 5 and int(p[2]) >= 4 and not RUDE.search(p[0]):
                words.add(p[0])
    return sorted(examples), sorted(glosses), sorted(words)


def fortunes(folder="/usr/share/games/fortunes"):
    out = set()
    for path in glob.glob(f"{folder}/*"):
        name = os.path.basename(path)
        if "." in name or name in SKIPPED_FORTUNES or os.path.isdir(path):
            continue
        for entry in open(path, encoding="utf8", errors="ignore").read().split("\n%\n"):
            entry = re.split(r"\n\s*--", entry)[0]
            for s in map(plain, re.split(r"(?<=[.!?])\s+", entry.replace("\n", " "))):
                if speakable(s) and s[0].isupper():
                    out.add(s)
    return sorted(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("out")
    ap.add_argument("--held", help="an earlier result whose held-out sentences stay held out")
    a = ap.parse_args()
    rng = random.Random(7)

    def cased(s):
        return s[0].upper() + s[1:] + ("." if s[-1].isalnum() else "") if rng.random() < 0.75 else s

    ex, gl, words = wordnet()
    lists = dict(ex=[cased(s) for s in ex], gl=[cased(s) for s in gl], fo=fortunes())
    held = json.load(open(a.held))["held"] if a.held else []
    grammar = Grammar(rng, {t["s"] for t in held})
    lists["tm"] = sorted({grammar.sentence() for _ in range(9000)})
    short = set(SHORT) | {w[0].upper() + w[1:] + "." for w in rng.sample(words, min(1200, len(words)))}
    short |= {w[0].upper() + w[1:] + rng.choice((".", ".", "", "?", "!")) for v in WORDS.values() for w in v}
    short |= {cardinal(n).capitalize() + "." for n in [*range(101), 200, 365, 500, 1000, 2000, 5000]}
    lists["short"] = sorted(short)
    for v in lists.values():
        rng.shuffle(v)
    if not held:
        for k, n in (("ex", 60), ("gl", 20), ("fo", 20), ("tm", 40)):
            held += [dict(s=s, k=k) for s in lists[k][:n]]
    keys = {Grammar.key(t["s"]) for t in held}
    lists = {k: [s for s in v if Grammar.key(s) not in keys] for k, v in lists.items()}
    json.dump(dict(lists, held=held), open(a.out, "w"))
    print({k: len(v) for k, v in lists.items()}, "held", len(held))


if __name__ == "__main__":
    main()
