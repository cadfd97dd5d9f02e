"""Finds the reader's pauses by forced alignment, so that her long clips can be cut into phrases.

Needs Debian's `pocketsphinx`, `pocketsphinx-en-us` and `festival` (which spells words that the dictionary lacks).
Usage: python3 -m sonant_training.pauses --human DIR --out pauses.json
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess

from .teachers import reader_clips, run, scratch

MODEL = "/usr/share/pocketsphinx/model/en-us"
SHORTEST = 0.14  # seconds of silence that count as a pause


def words_of(token):
    """The words in a token of text, as the dictionary spells them: `wood-cutters,` has two."""
    return re.sub(r"[^a-z' ]+", " ", token.lower().replace("-", " ")).split()


def spell(words):
    """{word: phones} by festival's lexicon and letter-to-sound rules."""
    code = "(lex.select \"cmu\")" + "".join(f'(format t "%s %l\\n" "{w}" (lex.lookup "{w.replace(chr(39), str())}" nil))'
                                            for w in words)
    text = subprocess.run(["festival", "--pipe"], input=code, capture_output=True, text=True).stdout
    out = {}
    for line in text.splitlines():
        word, _, entry = line.partition(" ")
        phones = re.findall(r"[a-z]+", entry.partition("nil")[2] or entry)
        if word in words:
            out[word] = ["AH" if p == "ax" else p.upper() for p in phones]
    return out


def dictionary(words):
    """Text of a dictionary file with the given words."""
    known, lines = set(), []
    for line in open(f"{MODEL}/cmudict-en-us.dict", encoding="utf8"):
        word = re.sub(r"\(\d+\)$", "", line.split()[0])
        if word in words:
            known.add(word)
            lines.append(line)
    spelled = spell(sorted(words - known))
    return "".join(lines) + "".join(f"{w} {' '.join(p)}\n" for w, p in spelled.items() if p)


def align(wave, words, dictionary_file, tmp):
    """[(word or <sil>, start, end in seconds)] of a 16 kHz file, or [] where the alignment fails."""
    open(f"{tmp}/g.jsgf", "w").write(f"#JSGF V1.0;\ngrammar g;\npublic <s> = {' '.join(words)};\n")
    text = subprocess.run(["pocketsphinx_continuous", "-infile", wave, "-jsgf", f"{tmp}/g.jsgf", "-dict",
                           dictionary_file, "-time", "yes", "-beam", "1e-80", "-wbeam", "1e-60", "-pbeam", "1e-80",
                           "-remove_silence", "no", "-bestpath", "no", "-logfn", "/dev/null"],
                          capture_output=True, text=True).stdout
    out = [(m[1], float(m[2]), float(m[3])) for m in re.finditer(r"^(\S+) ([\d.]+) ([\d.]+) [\d.]+$", text, re.M)]
    said = [re.sub(r"\(\d+\)$", "", w) for w, *_ in out if not w.startswith("<")]
    return out if said == words else []


def cuts(text, aligned):
    """[[seconds, tokens of the text before the pause]] in the middle of each pause between two tokens."""
    ends, n = {}, 0
    for k, token in enumerate(text.split()):
        n += len(words_of(token))
        ends[n] = k + 1
    out, said, total, gap = [], 0, n, None
    for word, start, end in aligned:
        if word.startswith("<"):
            gap = (start, end) if gap is None else (gap[0], end)
            continue
        if gap and gap[1] - gap[0] >= SHORTEST and said in ends and 0 < said < total:
            out.append([round((gap[0] + gap[1]) / 2, 3), ends[said]])
        gap, said = None, said + 1
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--human", required=True, help="folder of the reader's clips with transcripts.txt")
    ap.add_argument("--limit", type=int, default=10 ** 6)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    clips = reader_clips(a.human)[:a.limit]
    result, failed = {}, 0
    with scratch() as tmp:
        open(f"{tmp}/words.dict", "w").write(dictionary({w for _, t in clips for w in words_of(t)}))
        for name, text in clips:
            run(["opusdec", "--quiet", "--rate", "16000", f"{a.human}/{name}.opus", f"{tmp}/a.wav"])
            aligned = align(f"{tmp}/a.wav", words_of(text), f"{tmp}/words.dict", tmp)
            failed += not aligned
            result[name] = cuts(text, aligned)
    json.dump(result, open(a.out, "w"))
    print(len(result), "clips", failed, "not aligned", sum(map(len, result.values())), "pauses")


if __name__ == "__main__":
    main()
