"""The codec is causal and has a finite memory, so that it can run as a stream; quantizer and losses behave."""
from tiny import tiny_codec, tone, torch, unittest

from sonant_training import codebooks
from sonant_training.losses import PATCH, Discriminators, crop, line_energy, line_loss, mel_filters
from sonant_training.tensors import HOP


def stereo(x):
    return x[None, None].expand(1, 2, -1)


class Streaming(unittest.TestCase):
    def setUp(self):
        self.codec = tiny_codec()
        self.wave = torch.randn(12 * HOP, generator=torch.Generator().manual_seed(1)) * 0.1

    def test_later_audio_does_not_change_earlier_codes(self):
        whole = self.codec.encode(stereo(self.wave))
        self.assertEqual(tuple(whole.shape), (16, 1, 12))
        for frames in (1, 5, 11):
            part = self.codec.encode(stereo(self.wave[:frames * HOP]))
            self.assertTrue(torch.equal(part, whole[:, :, :frames]), frames)

    def test_later_codes_do_not_change_earlier_audio(self):
        codes = torch.randint(0, 1024, (16, 1, 12), generator=torch.Generator().manual_seed(2))
        whole = self.codec.decode(codes)
        self.assertEqual(tuple(whole.shape), (1, 2, 12 * HOP))
        for frames in (1, 7):
            part = self.codec.decode(codes[:, :, :frames])
            self.assertLess(float((part - whole[..., :frames * HOP]).abs().max()), 1e-4)

    def test_memory_ends(self):
        """Windows of 0.16 + 0.32 + 0.64 + 0.64 s: what lies 2 s (25 frames) back cannot be heard any more."""
        codes = torch.randint(0, 1024, (16, 1, 32), generator=torch.Generator().manual_seed(3))
        other = codes.clone()
        other[:, :, :4] = 0
        a, b = self.codec.decode(codes), self.codec.decode(other)
        self.assertGreater(float((a - b)[..., :4 * HOP].abs().max()), 1e-5)
        self.assertLess(float((a - b)[..., 31 * HOP:].abs().max()), 1e-4)

    def test_mono_path_is_the_mean_of_both_channels(self):
        z = torch.randn(1, 64, 6)
        both = self.codec.synthesise(z).mean(1)
        self.assertLess(float((self.codec.synthesise_mono(z) - both).detach().abs().max()), 1e-5)

    def test_tied_channels_are_equal(self):
        self.codec.tie_channels()
        y = self.codec.decode(torch.randint(0, 1024, (16, 1, 3)))
        self.assertTrue(torch.equal(y[0, 0], y[0, 1]))


class Books(unittest.TestCase):
    def test_start_from_data_codes_most_of_the_variance(self):
        codec = tiny_codec()
        z = torch.randn(8, 64, 400) * torch.linspace(3, 0.01, 64)[None, :, None]
        with torch.no_grad():
            left = codebooks.start_from_data(codec.quantizer, z)
        self.assertLess(left[-1], 0.2)
        self.assertTrue(all(a >= b for a, b in zip(left, left[1:])), left)

    def test_dead_codes_come_back(self):
        codec = tiny_codec()
        means = codebooks.RunningMeans(codec.quantizer)
        z = torch.randn(2, 64, 50)
        keep = torch.full((2,), 16)
        for _ in range(200):
            _, codes, _, latents = codec.quantizer(z, keep)
            means.update(codes, latents)
        dead = int((means.count < 0.06).sum())
        self.assertGreater(dead, 0)
        means.revive(latents)
        self.assertEqual(int((means.count < 0.06).sum()), 0)


class Losses(unittest.TestCase):
    def test_patch_lines_are_found(self):
        clean = torch.randn(1, 48000, generator=torch.Generator().manual_seed(4)) * 0.05
        comb = torch.zeros(1, 48000)
        comb[:, ::PATCH] = 0.2
        self.assertGreater(float(line_energy(clean + comb).mean() / line_energy(clean).mean()), 4)
        self.assertGreater(float(line_loss(clean + comb, clean)), 0.5)
        self.assertEqual(float(line_loss(clean, clean)), 0.0)

    def test_crops_start_on_patch_edges(self):
        x = torch.arange(PATCH * 50).float()[None].repeat(4, 1)
        a, b = crop(x, x, PATCH * 10)
        self.assertTrue((a[:, 0] % PATCH == 0).all() and torch.equal(a, b))

    def test_discriminators_accept_audio(self):
        out = Discriminators()(tone(0.2)[None, :PATCH * 60])
        self.assertEqual(len(out), 9)

    def test_mel_filters_cover_the_band(self):
        fb = mel_filters(961, 60.0, 7800.0, 80)
        self.assertEqual(tuple(fb.shape), (961, 80))
        self.assertTrue((fb.sum(0) > 0).all())


if __name__ == "__main__":
    unittest.main()
