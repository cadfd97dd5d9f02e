"""Text, speakers, shards and batches: deterministic, clean of held-out sentences, and laid out as promised."""
import contextlib
import io
import random
import tempfile
from unittest import mock

from tiny import buzz, json, np, os, tiny_codec, tone, torch, unittest

from sonant_training import encode
from sonant_training.audio import spoil, tidy
from sonant_training.batches import Corpus, Maker, load_codes, part_files
from sonant_training.export import write
from sonant_training.grammar import Grammar
from sonant_training.numbers import Spoken, cardinal, ordinal, year
from sonant_training.pauses import cuts, words_of
from sonant_training.pitch import repitch, track
from sonant_training.prompts import ASSISTANT_SLOT, AUDIO_END
from sonant_training.shards import AudioPool, Shards, write_shard
from sonant_training.speakers import FIRST_NEWCOMER, NEWCOMERS, READER, newcomer, speakers, unseen
from sonant_training.teachers import pieces, plan, sentence_case


class Words(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(cardinal(1234567), "one million two hundred thirty four thousand five hundred sixty seven")
        self.assertEqual(cardinal(42, hyphen=True), "forty-two")
        self.assertEqual(cardinal(105, conjunction=True), "one hundred and five")
        self.assertEqual([ordinal(n) for n in (1, 12, 20, 33)], ["first", "twelfth", "twentieth", "thirty third"])
        self.assertEqual([year(n) for n in (1984, 1900, 2007, 2026, 1605)],
                         ["nineteen eighty four", "nineteen hundred", "two thousand seven", "twenty twenty six",
                          "sixteen oh five"])

    def test_every_quantity_can_be_spelled(self):
        say = Spoken(random.Random(1))
        for _ in range(200):
            for kind in ("number", "decimal", "time", "date", "year", "money", "percent", "measure", "fraction", "phone"):
                self.assertRegex(getattr(say, kind)(), r"^[A-Za-z][A-Za-z ,'-]*$")

    def test_held_out_sentences_never_appear(self):
        made = {Grammar(random.Random(3)).sentence() for _ in range(1)}
        grammar = Grammar(random.Random(3), banned=made)
        self.assertNotIn(made.pop(), {grammar.sentence() for _ in range(300)})

    def test_a_held_out_sentence_stays_out_in_any_spelling(self):
        self.assertEqual(Grammar.key("You have reached level eighty-eight."), Grammar.key("you have reached level eighty eight"))

    def test_same_seed_same_text(self):
        self.assertEqual(*[[f() for f in (g.sentence, g.phrase, g.pair) for _ in range(20)]
                           for g in (Grammar(random.Random(9)), Grammar(random.Random(9)))])


class Reader(unittest.TestCase):
    TEXT = "Printing, in the only sense, differs from wood-cuts and crafts"

    def aligned(self, *silences):
        """The words of TEXT, half a second each, and silences (words before, seconds)."""
        out, at, said = [], 0.0, 0
        for word in self.TEXT.split():
            for w in words_of(word):
                for _, length in [s for s in silences if s[0] == said]:
                    out.append(("<sil>", at, at + length))
                    at += length
                out.append((w, at, at + 0.5))
                at, said = at + 0.5, said + 1
        return out

    def test_pauses_lie_between_tokens_and_are_long_enough(self):
        found = cuts(self.TEXT, self.aligned((0, 0.3), (1, 0.4), (3, 0.1), (5, 0.2), (8, 0.5)))
        self.assertEqual(found, [[1.0, 1], [3.4, 5]])  # not at the start, too short, inside wood-cuts

    def test_pieces_hold_all_words_and_samples_in_order(self):
        x = np.arange(6 * 48000, dtype=np.float32)
        for seed in range(20):
            parts = pieces(self.TEXT, x, [[1.0, 1], [3.3, 5], [5.8, 9]], random.Random(seed))
            self.assertTrue(np.array_equal(np.concatenate([y for _, y in parts]), x))
            self.assertEqual(" ".join(t for t, _ in parts).lower(), self.TEXT.lower() + ".")
            self.assertTrue(all(t[0].isupper() and len(y) >= 0.6 * 48000 for t, y in parts))

    def test_sentence_case_ends_with_one_full_stop(self):
        self.assertEqual([sentence_case(t) for t in ("under the book,", "Is it so?")], ["Under the book.", "Is it so?"])


class Sound(unittest.TestCase):
    def test_speakers_have_stable_ids_and_nine_presets(self):
        cast = speakers()
        self.assertEqual([s["id"] for s in cast], list(range(len(cast))))
        presets = [s["name"] for s in cast if s["preset"]]
        self.assertEqual(len(presets), len(set(presets)))
        self.assertGreaterEqual(len(presets), 8)
        self.assertIn(READER, presets)

    def test_unseen_speakers_are_none_of_the_cast(self):
        def sound(s):
            return s["voice"], s["s"], s["stretch"], s["f0"], s["alpha"]

        others = unseen(20)
        self.assertEqual(len({sound(s) for s in others}), 20)
        self.assertFalse({sound(s) for s in others} & {sound(s) for s in speakers()})
        self.assertTrue({s["voice"] for s in others} <= {s["voice"] for s in speakers()})
        self.assertEqual(unseen(20), others)

    def test_newcomers_differ_from_each_other_and_say_their_pitch_as_heard(self):
        cast = speakers()
        rng = random.Random(3)
        base = [s for s in cast if not s["preset"] and s["engine"] != "human"]
        made = [newcomer(s, k, rng) for k, s in enumerate(base)]
        self.assertEqual(len({s["id"] for s in made} | {s["id"] for s in cast}), len(made) + len(cast))
        self.assertFalse(any(s["preset"] for s in made))
        self.assertEqual([(s["engine"], s["voice"]) for s in made], [(s["engine"], s["voice"]) for s in base])
        heard = [s["pitch"] or s["f0"] * s["s"] for s in made]
        self.assertEqual(len(set(heard)), len(heard))
        for s, f in zip(made, heard):
            _, (low, high), (calm, lively) = NEWCOMERS[s["engine"], s["voice"]]
            self.assertTrue(low <= f <= high and calm <= s["spread"] <= lively, s)
            self.assertEqual(bool(s["pitch"]), s["voice"] in ("rms", "ked_diphone") or s["engine"] == "hts", s)

    def test_a_plan_gives_presets_their_sentences_and_most_others_to_newcomers(self):
        texts = dict(held=[], ex=["One two three four."], fo=["Five six seven."], gl=["Eight nine ten."], tm=["Stop here."],
                     short=["Yes."])
        jobs = plan(texts, 6000, seed=1)
        ids = [s["id"] for s, _ in jobs]
        self.assertTrue(all(s["engine"] != "human" for s, _ in jobs))
        others = [s for s, _ in jobs if not s["preset"]]
        self.assertTrue(0.7 < sum(s["id"] >= FIRST_NEWCOMER for s in others) / len(others) < 0.95)
        share = sum(len(t) for s, t in jobs if s["name"] == "clara") / sum(len(t) for _, t in jobs)
        self.assertAlmostEqual(share, 120 / 1346, delta=0.01)
        self.assertEqual(ids, [s["id"] for s, _ in plan(texts, 6000, seed=1)])

    def test_pitch_is_found_and_noise_has_none(self):
        for hz in (70, 113, 235, 330):
            found = track(buzz(hz, 0.6).numpy())[5:-5]
            self.assertTrue((np.abs(found / hz - 1) < 0.02).all(), (hz, found))
        self.assertLess((track(np.random.default_rng(0).normal(0, 0.1, 24000)) > 0).mean(), 0.1)

    def test_another_pitch_leaves_length_formants_and_noise(self):
        pulses = np.zeros(48000)
        pulses[::400] = 1.0  # 120 Hz
        t = np.arange(480) / 48000
        voice = np.convolve(pulses, np.exp(-600 * t) * np.sin(2 * np.pi * 1000 * t))[:48000]
        noise = np.random.default_rng(0).normal(0, 0.1, 24000)
        x = np.concatenate((voice, noise)).astype(np.float32)

        def centre(v):
            power = np.abs(np.fft.rfft(v[4800:43200] * np.hanning(38400))) ** 2
            return (power * np.fft.rfftfreq(38400, 1 / 48000)).sum() / power.sum()

        for hz in (80.0, 97.0, 160.0, 230.0):
            y = repitch(x, hz)
            self.assertEqual(len(y), len(x))
            self.assertAlmostEqual(float(np.median(track(y)[10:90])), hz, delta=0.02 * hz)
            self.assertAlmostEqual(centre(y) / centre(x), 1, delta=0.08)  # resampled it would be hz / 120
            self.assertAlmostEqual(float(y[52800:69600].std()), 0.1, delta=0.02)
        self.assertEqual(repitch(noise, 200.0).tolist(), noise.tolist())

    def test_a_wider_spread_moves_the_pitch_further(self):
        hz = 150 * np.exp(0.15 * np.sin(2 * np.pi * 1.5 * np.arange(96000) / 48000))
        phase = 2 * np.pi * np.cumsum(hz) / 48000
        x = (0.1 * sum(np.cos(k * phase) / k for k in range(1, 15))).astype(np.float32)

        def movement(y):
            f = track(y)
            return float(np.log(f[f > 0]).std())

        self.assertAlmostEqual(movement(repitch(x, 150.0, 1.6)) / movement(x), 1.6, delta=0.15)

    def test_human_speech_has_a_share_of_its_own_in_the_pool(self):
        with tempfile.TemporaryDirectory() as tmp:
            for name, level in (("s0", 0.25), ("human_a", 0.5), ("human_b", 0.75)):
                write_shard(tmp, name, [(0, "text", np.full(48000, level, np.float32))])
            pool = AudioPool(tmp, "cpu", hours=0.01, human_share=0.5)
            pool.refresh()
            self.assertAlmostEqual(pool.hours * 3600, 3.0, places=3)
            levels = pool.batch(40, 4800).mean(1)
            self.assertEqual(int((levels > 0.4).sum()), 20)
            self.assertGreater(int((levels > 0.6).sum()), 2)

    def test_tidy_trims_and_sets_the_level(self):
        x = np.concatenate((np.zeros(48000), tone(1.0).numpy() * 0.1, np.zeros(48000))).astype(np.float32)
        y = tidy(x)
        self.assertLess(abs(len(y) / 48000 - 1.24), 0.05)
        self.assertAlmostEqual(float(np.sqrt((y[4800:40000] ** 2).mean())), 0.085, places=2)
        self.assertIsNone(tidy(np.zeros(48000, np.float32)))

    def test_spoiled_references_keep_length_and_end(self):
        x = tone(0.5)[None].repeat(3, 1)
        n = torch.tensor([24000, 20000, 10000])
        y = spoil(x, n)
        self.assertEqual(y.shape, x.shape)
        self.assertTrue((y[2, 10000:] == 0).all() and torch.isfinite(y).all() and float(y.abs().max()) <= 1)


class Tokens:
    """Stands in for SentencePiece: one id per letter."""

    def encode(self, text, **_):
        return [20 + ord(c) % 40 for c in text]


class Batches(unittest.TestCase):
    def corpus(self, tmp, count=40):
        rng = np.random.default_rng(0)
        lens = rng.integers(5, 30, count).astype(np.int32)
        np.savez(f"{tmp}/part000.npz", spk=np.arange(count) % 3, lens=lens, spoiled=np.arange(count) % 7 == 6,
                 codes=rng.integers(0, 1024, (lens.sum(), 16)).astype(np.uint16),
                 text=np.array(json.dumps([f"text {i}" for i in range(count)])))
        return Corpus([f"{tmp}/part000.npz"], {2: 3})

    def maker(self, corpus):
        maker = Maker.__new__(Maker)
        from sonant_training.prompts import Template
        maker.__dict__.update(c=corpus, budget=4096, max_rows=512, train=True, frames=64, waiting={}, sp=Tokens(),
                              template=Template(lambda s: [20 + len(s) % 9] * 3), rng=random.Random(1), order=None, at=0)
        return maker

    def test_samples_end_with_the_end_row(self):
        with tempfile.TemporaryDirectory() as tmp:
            maker = self.maker(self.corpus(tmp))
            for _ in range(100):
                col, frames, first = maker.sample()
                self.assertEqual(len(col), len(frames))
                self.assertEqual(col[-1], AUDIO_END)
                self.assertTrue(all(c == ASSISTANT_SLOT for c in col[first:-1]))
                self.assertTrue(all(f >= 0 for f in frames[first:-1]))

    def test_shapes_depend_on_the_width_alone(self):
        with tempfile.TemporaryDirectory() as tmp:
            maker = self.maker(self.corpus(tmp))
            shapes = {}
            for col, fi, wb, wt, wf in maker.chunk(400):
                self.assertEqual((len(wb), len(wt), len(wf)), (64, 64, 64))
                self.assertEqual(shapes.setdefault(col.shape[1], col.shape), col.shape)
                self.assertTrue((col[wb, wt + 1] == np.where(wf == 1, ASSISTANT_SLOT, AUDIO_END)).all())
            self.assertGreater(len(shapes), 1)

    def test_spoiled_codes_are_references_only(self):
        with tempfile.TemporaryDirectory() as tmp:
            corpus = self.corpus(tmp)
            self.assertFalse(corpus.spoiled[corpus.ids].any())
            self.assertEqual(int((corpus.spk[corpus.ids] == 2).sum()) % 3, 0)

    def test_encoding_takes_every_utterance_once_in_small_parts(self):
        with tempfile.TemporaryDirectory() as tmp:
            codec = tiny_codec()
            codec.tie_channels()
            write(f"{tmp}/codec", codec.cfg, codec.state_dict())
            waves = {f"text {k}": tone(1.1 + 0.2 * k, k).numpy() * 0.3 for k in range(10)}
            for k, (text, x) in enumerate(waves.items()):
                write_shard(tmp, f"s{k}", [(k, text, x)])
            open(f"{tmp}/DONE", "w").close()
            call = [f"--codec={tmp}/codec", f"--shards={tmp}", f"--out={tmp}/codes", "--follow=1", "--first=2",
                    "--max-shards=3", "--spoiled=1", "--delete=1"]
            with mock.patch("sys.argv", ["encode", *call]), contextlib.redirect_stdout(io.StringIO()):
                encode.main()
            paths = part_files(f"{tmp}/codes")
            self.assertEqual([int((~np.load(p)["spoiled"]).sum()) for p in paths], [2, 3, 3, 2])
            corpus, codes = Corpus(paths), load_codes(paths)
            self.assertEqual(sorted(corpus.text[i] for i in corpus.ids), sorted(waves))
            self.assertEqual(sorted(corpus.text), sorted(list(waves) * 2), "each also from a spoiled recording")
            loaded = encode.load_codec(f"{tmp}/codec", "cpu")
            for i in corpus.ids:
                x = np.trunc(waves[corpus.text[i]] * 32767).astype(np.float32) / 32768
                wanted = loaded.encode(torch.from_numpy(x)[None, None].expand(1, 2, -1))[:, 0].t()
                got = codes[corpus.start[i]:corpus.start[i] + corpus.lens[i]]
                self.assertGreater((got == wanted.numpy()).mean(), 0.99)
            self.assertFalse([p for p in os.listdir(tmp) if p.endswith(".i16")])

    def test_shards_are_seen_once(self):
        with tempfile.TemporaryDirectory() as tmp:
            write_shard(tmp, "s0", [(4, "one", np.full(100, 0.5, np.float32)), (4, "two", np.zeros(50, np.float32))])
            view = Shards(tmp)
            (path, x, meta), = list(view.new())
            self.assertEqual((os.path.basename(path), len(x), [m[2] for m in meta]), ("s0.i16", 150, [100, 50]))
            self.assertEqual(list(view.new()), [])


if __name__ == "__main__":
    unittest.main()
