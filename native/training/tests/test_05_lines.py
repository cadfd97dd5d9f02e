"""Lines in noise are found, and the last projection can be rid of them without becoming another one."""
import tempfile

from tiny import buzz, np, os, tiny_codec, torch, unittest

from sonant_training import lines
from sonant_training.codec import read_codec
from sonant_training.export import write
from sonant_training.losses import PATCH
from sonant_training.shards import write_shard


def hiss(seconds, level=0.05, seed=1):
    return torch.randn(1, int(seconds * 48000), generator=torch.Generator().manual_seed(seed)) * level


class Measure(unittest.TestCase):
    def test_fricatives_are_neither_voices_nor_pauses(self):
        self.assertTrue(lines.fricatives(hiss(0.5)).all())
        self.assertFalse(lines.fricatives(hiss(0.5, 0.002)).any())
        self.assertFalse(lines.fricatives(buzz(120, 0.5)[None]).any())

    def test_noise_has_no_lines_and_what_comes_again_every_token_has(self):
        x = hiss(4)
        everywhere = torch.ones(lines.fricatives(x).shape, dtype=torch.bool)
        self.assertAlmostEqual(float(lines.line_power(x, everywhere)), 1.0, delta=0.1)
        again = hiss(0.0025, 0.02, seed=2).repeat(1, 1600)
        self.assertGreater(float(lines.line_power(x + again, everywhere)), 3.0)


class Refined(unittest.TestCase):
    """Tokens with a mean: what is random in them makes the noise that is wanted, and the mean a pattern."""

    def setUp(self):
        g = torch.Generator().manual_seed(3)
        self.weight = torch.randn(PATCH, 160, generator=g) * 0.004
        wanted = torch.randn(10, 256, 160, generator=g)
        self.x = (wanted @ self.weight.t()).flatten(1)
        self.tokens = wanted + 0.7 * torch.randn(160, generator=g)

    def powers(self, weight):
        y = (self.tokens @ weight.t()).flatten(1)
        chosen = lines.fricatives(self.x)
        return float(lines.line_power(y, chosen)), float(lines.pattern(weight, lines.common(self.tokens, y, chosen)))

    def test_lines_go_and_the_projection_stays(self):
        before = self.powers(self.weight)
        made = lines.refine(self.weight, self.x, self.tokens, None, 12, batch=4, rate=0.03, say=lambda *_: None)
        after = self.powers(made)
        self.assertGreater(before[0], 2.0)
        self.assertLess(after[0] - 1, 0.5 * (before[0] - 1))
        self.assertLess(after[1], 0.5 * before[1])
        self.assertLess(float((made - self.weight).norm() / self.weight.norm()), 0.35)

    def test_only_the_last_projection_changes_and_both_channels_stay_equal(self):
        codec = tiny_codec()
        codec.tie_channels()
        with tempfile.TemporaryDirectory() as tmp:
            write(f"{tmp}/codec", codec.cfg, codec.state_dict())
            os.mkdir(f"{tmp}/shards")
            write_shard(f"{tmp}/shards", "a", [(0, "", np.asarray(hiss(2)[0]))])
            lines.run(f"{tmp}/codec", f"{tmp}/shards", None, f"{tmp}/out", count=4, frames=6, steps=2, say=lambda *_: None)
            old, new = read_codec(f"{tmp}/codec"), read_codec(f"{tmp}/out")
        a, b = old.state_dict(), new.state_dict()
        self.assertEqual([k for k in a if not torch.equal(a[k], b[k])], ["decoder.7.output_proj.weight"])
        y = new.decode(torch.randint(0, 1024, (16, 1, 3)))
        self.assertTrue(torch.equal(y[0, 0], y[0, 1]))


if __name__ == "__main__":
    unittest.main()
