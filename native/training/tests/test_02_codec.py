"""The codec is causal and has a finite memory, so that it can run as a stream; quantizer and losses behave."""
import argparse
import tempfile

from tiny import buzz, json, np, tiny_codec, tone, torch, unittest

from sonant_training import codebooks
from sonant_training.losses import (FLOOR, LAGS, PATCH, PERIODS, VOICE_RATE, Discriminators, MelLoss, balanced, crop,
                                    fundamental_loss, line_energy, mel_filters, periodicity, periodicity_loss, repetition,
                                    repetition_loss)
from sonant_training.shards import write_shard
from sonant_training.tensors import HOP, RATE
from sonant_training.train_codec import Trainer


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

    def noise(self, seed, samples=38400, level=0.02):
        return torch.randn(1, samples, generator=torch.Generator().manual_seed(seed)) * level

    def test_noise_that_repeats_after_20_ms_is_told_from_noise(self):
        fresh, again = self.noise(5), self.noise(6, 960).repeat(1, 40)
        for x, at_20, at_10 in ((fresh, 0.1, 0.15), (again, 1.0, 0.15)):
            found, _ = repetition(x)
            self.assertAlmostEqual(float(found[LAGS.index(8)].mean()), at_20, delta=0.05)
            self.assertLess(float(found[LAGS.index(4)].mean()), at_10)
        self.assertGreater(float(repetition_loss(again, fresh)), 10 * float(repetition_loss(self.noise(7), fresh)))

    def test_descending_the_repetition_loss_ends_the_repetition(self):
        target, y = self.noise(8), self.noise(9, 960).repeat(1, 40).requires_grad_()
        first = float(repetition_loss(y, target).detach())
        opt = torch.optim.Adam([y], lr=1e-3)
        for _ in range(30):
            opt.zero_grad()
            repetition_loss(y, target).backward()
            opt.step()
        self.assertLess(float(repetition_loss(y, target).detach()), 0.3 * first)

    def test_silence_has_a_gradient_that_is_a_number(self):
        y = torch.zeros(1, 38400, requires_grad=True)
        repetition_loss(y, self.noise(10)).backward()
        self.assertTrue(torch.isfinite(y.grad).all())

    def test_periodicity_peaks_at_the_period_of_a_voice(self):
        for hz in (80, 113, 235):
            pulses = buzz(hz, 0.5)[None]
            r, energy = periodicity(pulses)
            found = VOICE_RATE / (PERIODS[0] + r[:, 2:-2].mean(1)[0, :int(1.2 * VOICE_RATE / hz) - PERIODS[0]].argmax())
            self.assertAlmostEqual(float(found), hz, delta=0.02 * hz)
            self.assertGreater(float(r[:, 2:-2].amax(-1).min()), 0.9)
            self.assertTrue((energy > 0).all())

    def test_a_wrong_pitch_costs_more_than_another_phase(self):
        x = buzz(113, 1.0)[None]
        later, low, hoarse = torch.roll(x, 100), buzz(100, 1.0)[None], 0.1 * torch.randn_like(x)
        self.assertLess(float(periodicity_loss(later, x)), 0.02)
        self.assertGreater(float(periodicity_loss(low, x)), 0.2)
        self.assertGreater(float(periodicity_loss(hoarse, x)), 0.15)
        self.assertLess(float(periodicity_loss(0.2 * x, x)), 0.01)

    def test_the_fundamental_has_a_phase(self):
        x = buzz(113, 1.0)[None]
        self.assertLess(float(fundamental_loss(x, x)), 0.01)
        self.assertAlmostEqual(float(fundamental_loss(torch.zeros_like(x), x)), 1.0, delta=0.02)
        self.assertGreater(float(fundamental_loss(-x, x)), 1.9)
        above = x + 0.1 * torch.sin(2 * np.pi * 3000 * torch.arange(RATE) / RATE)[None]
        self.assertLess(float(fundamental_loss(above, x)), 0.02)

    def test_pitch_counts_only_in_the_items_that_are_asked(self):
        x = torch.stack((buzz(113, 1.0), buzz(150, 1.0)))
        y = torch.stack((buzz(113, 1.0), buzz(200, 1.0)))
        for loss in (periodicity_loss, fundamental_loss):
            first, second = (float(loss(y, x, torch.tensor(w))) for w in ((1.0, 0.0), (0.0, 1.0)))
            self.assertLess(first, 0.02)
            self.assertGreater(second, 0.2)
            self.assertEqual(float(loss(y, x)), float(loss(y, x, torch.ones(2))))

    def test_mel_distance_does_not_look_below_its_floor(self):
        mel, speech = MelLoss("cpu"), tone(0.5)[None]
        hiss, faint = self.noise(11, 24000, 10 * FLOOR), self.noise(11, 24000, 0.01 * FLOOR)
        self.assertLess(float(mel(speech + faint, speech)), 0.01)
        self.assertGreater(float(mel(speech + hiss, speech)), 0.3)

    def test_mel_distance_looks_between_its_lowest_and_highest_frequency(self):
        t = torch.arange(24000) / 48000
        low, inside, high = (0.1 * torch.sin(2 * np.pi * hz * t)[None] for hz in (300, 2000, 11000))
        mel, hiss = MelLoss("cpu", ((1280, 20),), 8000.0, 700.0), self.noise(11, 24000, 0.01)
        self.assertLess(float(mel(hiss + low + high, hiss)), 0.02)
        self.assertGreater(float(mel(hiss + inside, hiss)), 0.2)

    def test_shares_of_a_gradient_do_not_depend_on_the_size_of_the_losses(self):
        tokens = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(12))
        y = torch.zeros(2, 5 * PATCH, requires_grad=True)
        a, b = self.noise(13, 5 * PATCH), self.noise(14, 5 * PATCH)

        def gradient(size):
            return balanced(dict(a=size * (y * a).sum(), b=(y * b).sum()), dict(a=2.0, b=1.0, absent=1.0), y, tokens)

        (small, norms), (large, _) = gradient(1.0), gradient(1000.0)
        self.assertLess(float((small - large).abs().max()), 1e-5)
        self.assertEqual(set(norms), {"a", "b"})
        alone, _ = balanced(dict(a=(y * a).sum()), dict(a=2.0), y, tokens)
        at_weights = alone.reshape(-1, PATCH).t() @ tokens.flatten(0, 1)
        self.assertAlmostEqual(float(at_weights.norm()), 2.0, places=4)

    def test_what_is_good_enough_loses_its_share(self):
        tokens = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(12))
        a = self.noise(13, 5 * PATCH)

        def size(value):
            y = torch.zeros(2, 5 * PATCH, requires_grad=True)
            g, _ = balanced(dict(a=value + (y * a).sum()), dict(a=2.0), y, tokens, dict(a=0.5))
            return float((g.reshape(-1, PATCH).t() @ tokens.flatten(0, 1)).norm())

        self.assertAlmostEqual(size(3.0), 2.0, places=4)
        self.assertAlmostEqual(size(0.5), 2.0, places=4)
        self.assertAlmostEqual(size(0.1), 0.08, places=4)

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


class Training(unittest.TestCase):
    """Both phases with a tiny codec: every step moves what it should and nothing else."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        out = self.folder.name
        codec = tiny_codec()
        json.dump(codec.cfg, open(f"{out}/config.json", "w"))
        write_shard(out, "s000000", [(0, "a", tone(70.0).numpy() + np.random.default_rng(0).normal(0, 0.01, 70 * 48000))])
        a = argparse.Namespace(device="cpu", config=f"{out}/config.json", resume=None, compile=0, graphs=0, frames=10, batch=2,
                               lr=1e-3, b_lr=1e-3, shards=out, hours=0.1, gan_crop=40 * PATCH, few=0.3, out=out, recogniser=None)
        self.trainer = Trainer(a, lambda *_: None)
        self.trainer.pool.refresh()
        self.trainer.load_batch()

    def moved(self, step):
        t = self.trainer
        before = [p.detach().clone() for p in t.all_params]
        out = step()
        self.assertTrue(all(bool(torch.isfinite(v).all()) for k, v in out.items() if k != "latents"), out)
        moved = {n for (n, p), b in zip(t.model.named_parameters(), before) if not torch.equal(p, b)}
        return {n.split(".")[0] for n in moved}, moved

    def test_phase_a_moves_encoder_quantizer_and_decoder(self):
        parts, names = self.moved(self.trainer.step_vq)
        self.assertEqual(parts, {"encoder", "quantizer", "decoder"})
        self.assertTrue(any("codebook" in n for n in names), "running means move the codebooks")

    def test_phase_b_moves_the_decoder_alone(self):
        t = self.trainer
        for p in t.all_params:
            p.requires_grad_(False)
        for p in t.dec_params:
            p.requires_grad_(True)
        t.ema = [p.detach().clone() for p in t.dec_params]
        self.assertEqual(self.moved(t.step_disc)[0], set())
        self.assertEqual(self.moved(t.step_dec)[0], {"decoder"})

    def test_validation_names_its_figures(self):
        text = self.trainer.validate()
        for word in ("mel", "coarse", "pitch", "wave", "repeats", "codes used"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
