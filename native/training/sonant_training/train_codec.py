"""Trains the codec in two timed phases.

Phase A: encoder, quantizer and decoder; afterwards the codes are final (codec_a.pt) and the language model can start.
Phase B: encoder and quantizer frozen; the decoder goes on against discriminators (codec_b.pt, averaged weights).
A recogniser file that appears meanwhile joins the loss. Whole steps run as CUDA graphs.
Usage: python3 -m sonant_training.train_codec --shards DIR --out DIR --a-seconds N --b-seconds M
"""
from __future__ import annotations

import argparse
import json
import math
import os
import time
from typing import NamedTuple

import torch
import torch.nn as nn

from . import codebooks
from .codec import Codec, codec_config
from .graphs import Graphed
from .losses import (LAGS, Discriminators, MelLoss, balanced, coarse_loss, crop, fundamental_loss, periodicity_loss,
                     recogniser_loss, repetition, repetition_loss)
from .shards import SPEEDS, AudioPool, augment
from .tensors import HOP, half, read_safetensors

# Shares of the gradient (losses.balanced); `coarse` is a mel distance with the few wide bands of a recogniser, above the
# lowest harmonics: a codec that has learned phases otherwise gains there and loses where words are told apart. Pitch
# and phase are learned within a minute and then get less. The discriminators' gradients weigh some twenty times more in
# the rest of the decoder than at the last projection.
A_WEIGHTS = dict(mel=0.6, coarse=0.8, hear=1.0, repeat=0.35, pitch=0.5, wave=0.5)
B_WEIGHTS = dict(mel=1.0, coarse=0.3, hear=0.5, repeat=0.35, pitch=0.5, wave=0.5, adv=0.05, fm=0.08)
ENOUGH = dict(pitch=0.05, wave=0.9)
COMMIT = 0.1
TWENTY_MS = LAGS.index(8)


def lr_at(frac, base, warm=0.02, floor=0.03):
    if frac < warm:
        return base * (0.05 + 0.95 * frac / warm)
    return base * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, (frac - warm) / (1 - warm)))))


class Decoded(NamedTuple):
    tokens: torch.Tensor  # (B, patches, d), what the last projection reads
    audio: torch.Tensor   # (B, samples), with the way back to the decoder
    leaf: torch.Tensor    # the same audio without it


class Trainer:
    def __init__(self, a, say):
        self.a, self.say, self.dev = a, say, a.device
        self.cuda = a.device == "cuda"
        dev = self.dev
        self.cfg = json.load(open(a.config)) if a.config else codec_config()
        self.model = Codec(self.cfg, init_scale=0.1).to(dev)
        self.discs = Discriminators().to(dev)
        self.state = None
        if a.resume and a.resume.endswith(".safetensors"):
            self.model.load_state_dict(read_safetensors(a.resume))
            if a.resume_discs:
                self.discs.load_state_dict(read_safetensors(a.resume_discs))
        elif a.resume:
            self.state = torch.load(a.resume, map_location=dev)
            self.model.load_state_dict(self.state.get("raw", self.state["model"]))
            if "discs" in self.state:
                self.discs.load_state_dict(self.state["discs"])
        self.model.tie_channels()
        self.means = codebooks.RunningMeans(self.model.quantizer)
        if a.compile and self.cuda:
            self.model.compile_layers()
        self.mel, self.coarse = MelLoss(dev), coarse_loss(dev)
        self.recogniser, self.ema = None, None
        self.length = a.frames * HOP
        self.n_q = self.cfg["quantizer_kwargs"]["num_quantizers"]
        self.all_params = [p for p in self.model.parameters()]
        self.dec_params = list(self.model.decoder.parameters())
        extra = dict(fused=True, capturable=True) if self.cuda else {}
        num = (lambda v: torch.tensor(v, device=dev)) if self.cuda else float
        self.opt = torch.optim.AdamW(self.all_params, lr=num(a.lr), betas=(0.85, 0.98), weight_decay=1e-3, **extra)
        self.dopt = torch.optim.AdamW(self.discs.parameters(), lr=num(2e-4), betas=(0.8, 0.99), weight_decay=1e-3, **extra)
        self.x = torch.zeros(a.batch, self.length, device=dev)
        self.keep = torch.full((a.batch,), self.n_q, dtype=torch.long, device=dev)
        self.pool = AudioPool(a.shards, dev, hours=a.hours)
        self.step, self.val, self.saved = 0, {}, time.time()
        say("parameters", sum(p.numel() for p in self.all_params) / 1e6,
            "discriminators", sum(p.numel() for p in self.discs.parameters()) / 1e6)

    def amp(self):
        return half(self.dev)

    def wait_for_audio(self):
        t0 = time.time()
        while True:
            self.pool.refresh()
            if len(self.pool.shards.seen) >= self.a.min_shards and self.pool.most.n > 60 * 48000:
                break
            time.sleep(0.5)
        self.say(f"first audio after {time.time() - t0:.0f}s: {self.pool.hours:.2f} h")

    def find_recogniser(self):
        """Load the recogniser once its file exists; True when it has just joined."""
        if self.recogniser is not None or not self.a.recogniser or not os.path.exists(self.a.recogniser):
            return False
        from .recogniser import read_recogniser
        self.recogniser = read_recogniser(self.a.recogniser, self.dev)
        return True

    # ---- parts of a step
    def analyse(self):
        with self.amp():
            return self.model.analyse(self.x[:, None].expand(-1, 2, -1)).float()

    def decode(self, zq):
        with self.amp():
            return self.model.synthesise_mono(zq).float()

    def decode_for(self, zq):
        """Decodes for losses that are balanced before they reach the decoder."""
        with self.amp():
            tokens, y = self.model.last_tokens(zq)
        return Decoded(tokens.detach(), y, y.detach().requires_grad_())

    def adversarial(self, y):
        """Discriminator update, then the generator's adversarial and feature losses."""
        xr, yf = crop(self.x, y, self.a.gan_crop)
        n = xr.shape[0]
        with self.amp():
            both = self.discs(torch.cat((xr, yf.detach())))
        dl = sum(((o[:n].float() - 1) ** 2).mean() + (o[n:].float() ** 2).mean() for o, _ in both) / len(both)
        self.dopt.zero_grad(set_to_none=True)
        dl.backward()
        nn.utils.clip_grad_norm_(self.discs.parameters(), 5.0)
        self.dopt.step()
        self.discs.requires_grad_(False)
        with self.amp():
            fake = self.discs(yf)
        self.discs.requires_grad_(True)
        adv = sum(((o.float() - 1) ** 2).mean() for o, _ in fake) / len(fake)
        fm = [(f.float() - r[:n].detach().float()).abs().mean() / r[:n].detach().float().abs().mean().clamp(min=1e-3)
              for (_, fs), (_, rs) in zip(fake, both) for f, r in zip(fs, rs)]
        return dl.detach(), adv, sum(fm) / len(fm)

    def compare(self, y, whole=None):
        """Losses of the decoded audio y (B, samples) against the input.

        whole (B,): 1 for items with all their codes. The others need not keep the pitch, so that the first codes say
        what is spoken and the later ones at what pitch.
        """
        out = dict(mel=self.mel(y, self.x), coarse=self.coarse(y, self.x), repeat=repetition_loss(y, self.x),
                   pitch=periodicity_loss(y, self.x, whole), wave=fundamental_loss(y, self.x, whole))
        if self.recogniser is not None:
            with self.amp():
                out["hear"] = recogniser_loss(self.recogniser, y, self.x)
        return out

    def finish(self, made, losses, weights, params, commit=0.0):
        """Backward and one optimizer step on losses of made.leaf."""
        gradient, norms = balanced(losses, weights, made.leaf, made.tokens, ENOUGH)
        ((made.audio * gradient).sum() + COMMIT * commit).backward()
        out = {k: v.detach() for k, v in losses.items()}
        out["gn"] = nn.utils.clip_grad_norm_(params, 3.0).detach()
        self.opt.step()
        return dict(out, **{f"g_{k}": v for k, v in norms.items()})

    # ---- the three kinds of steps
    def step_bypass(self):
        self.opt.zero_grad(set_to_none=True)
        made = self.decode_for(self.model.quantizer.bypass(self.analyse()))
        return self.finish(made, self.compare(made.leaf), A_WEIGHTS, self.all_params)

    def step_vq(self):
        self.opt.zero_grad(set_to_none=True)
        zq, codes, commit, latents = self.model.quantizer(self.analyse(), self.keep)
        made = self.decode_for(zq)
        losses = self.compare(made.leaf, (self.keep == self.n_q).float())
        out = self.finish(made, losses, A_WEIGHTS, self.all_params, commit)
        self.means.update(codes, latents)
        return dict(out, commit=commit.detach(), latents=latents)

    def step_disc(self):
        """The discriminators alone: fresh ones must know something before the decoder listens to them."""
        with torch.no_grad():
            y = self.decode(self.model.quantizer(self.analyse(), self.keep)[0])
        return dict(d=self.adversarial(y)[0])

    def step_dec(self):
        self.opt.zero_grad(set_to_none=True)
        with torch.no_grad():
            zq = self.model.quantizer(self.analyse(), self.keep)[0]
        made = self.decode_for(zq)
        losses = self.compare(made.leaf, (self.keep == self.n_q).float())
        dl, losses["adv"], losses["fm"] = self.adversarial(made.leaf)
        out = self.finish(made, losses, B_WEIGHTS, self.dec_params)
        torch._foreach_mul_(self.ema, 0.998)
        torch._foreach_add_(self.ema, [p.detach() for p in self.dec_params], alpha=0.002)
        return dict(out, d=dl)

    def load_batch(self):
        a, dev = self.a, self.dev
        self.x.copy_(augment(self.pool.batch(a.batch, int(self.length * SPEEDS[1]) + 1), self.length))
        few = torch.randint(1, self.n_q + 1, (a.batch,), device=dev)
        self.keep.copy_(torch.where(torch.rand(a.batch, device=dev) < a.few, few, self.n_q))

    @torch.no_grad()
    def validate(self):
        """Mel distances, how far noise repeats itself after 20 ms (and does in the target), codes in use."""
        if not self.val:
            g = torch.Generator(device=self.dev)
            g.manual_seed(1)
            for k, part in (("teachers", self.pool.most), ("reader", self.pool.human)):
                if part.n > self.length + 1:
                    self.val[k] = part.cut(32, self.length, g)
        res = []
        for k, x in self.val.items():
            with self.amp():
                z = self.model.analyse(x[:, None].expand(-1, 2, -1)).float()
            codes = self.model.quantizer.encode(z)
            y = self.decode(self.model.quantizer.decode(codes))
            used = [int((torch.bincount(c.flatten(), minlength=1024) > 0).sum()) for c in codes]
            (a, _), (b, energy) = repetition(y), repetition(x)
            a, b = a[TWENTY_MS], b[TWENTY_MS]
            noise = (b < 0.15) & (energy[:, -b.shape[1]:] > 1e-4)
            hear = ""
            if self.recogniser is not None:
                with self.amp():
                    hear = f" hear {float(recogniser_loss(self.recogniser, y, x)):.3f}"
            res.append(f"{k}: mel {float(self.mel(y, x)):.3f} coarse {float(self.coarse(y, x)):.3f} "
                       f"pitch {float(periodicity_loss(y, x)):.3f} wave {float(fundamental_loss(y, x)):.3f} "
                       f"repeats {float(a[noise].mean()):.2f} of {float(b[noise].mean()):.2f}{hear} "
                       f"codes used {used[0]} {used[len(used) // 2]} {used[-1]}")
        return " | ".join(res)

    def set_lr(self, lr):
        for g in self.opt.param_groups:
            if self.cuda:
                g["lr"].fill_(lr)
            else:
                g["lr"] = lr

    def stretch(self, name, seconds, fn, lr_of, revive=False, until=None):
        """Run fn for the given time, or until until() is true; returns the share of the time that was used."""
        a, start = self.a, time.time()
        self.load_batch()
        self.set_lr(lr_of(0.0))
        graphs = bool(a.graphs) and self.cuda
        try:
            run = Graphed(fn, use=graphs, say=self.say)
        except Exception as e:  # most likely the compiler: go on without it
            self.say("compiling failed, running as written:", type(e).__name__, str(e)[:400])
            self.model.run_as_written()
            run = Graphed(fn, use=graphs, say=self.say)
        self.say(f"{name}: ready after {time.time() - start:.1f}s, graph {run.graph is not None}")
        if self.step == 0:  # the very first compilation is no training time
            start = time.time()
        acc, last, n, mark, checked = {}, time.time(), 0, 0, time.time()
        while (frac := (time.time() - start) / seconds) < 1 and not (until and n % 20 == 0 and until()):
            lr = lr_of(frac)
            self.set_lr(lr)
            if self.step % 20 == 0:
                self.pool.refresh(8)
            self.load_batch()
            out = run()
            if revive and n % (10 if frac < 0.6 else 50) == 0:
                self.means.revive(out["latents"])
            if n % 10 == 0:
                for k, v in out.items():
                    if k != "latents":
                        acc.setdefault(k, []).append(v.clone())
            self.step += 1
            n += 1
            if n % 20 == 0 and time.time() - last > (10 if n > 100 else 2):
                if self.cuda:
                    torch.cuda.synchronize()
                now, text = time.time(), ""
                if now - checked > 60:
                    text, checked = self.validate(), now
                self.say(f"{name} {now - start:.0f}s step {self.step} {(now - last) / max(1, n - mark) * 1000:.0f}ms "
                         f"lr {lr:.1e} " + " ".join(f"{k} {float(torch.stack(u).mean()):.3f}" for k, u in acc.items()),
                         f"pool {self.pool.hours:.1f}h", text)
                acc, last, mark = {}, time.time(), n
                if time.time() - self.saved > a.save_every:
                    self.saved = time.time()
                    self.save("codec_part", **(dict(ema=[e.cpu() for e in self.ema]) if self.ema else {}))
        used = (time.time() - start) / seconds
        del run
        if self.cuda:
            torch.cuda.empty_cache()
        self.say(name, "end, step", self.step, "|", self.validate())
        return min(1.0, used)

    def save(self, name, **more):
        path = f"{self.a.out}/{name}"
        torch.save(dict(model=self.model.state_dict(), cfg=self.cfg, discs=self.discs.state_dict(), **more), path + ".tmp")
        os.rename(path + ".tmp", path + ".pt")
        self.say("saved", name)

    def phase_a(self):
        a, t = self.a, self.a.a_seconds
        at = 0.0 if a.resume else a.bypass

        def base(f):
            return lr_at(f, a.lr)

        if at > 0:
            self.stretch("bypass", t * at, self.step_bypass, lambda f: base(at * f))
            zs = []
            with torch.no_grad():
                for _ in range(16):
                    self.load_batch()
                    zs.append(self.analyse())
            self.say("quantizer start, variance left", codebooks.start_from_data(self.model.quantizer, torch.cat(zs)))
            self.means.restart()
            self.say("after start |", self.validate())
        while at < 0.999:  # once more when the recogniser joins
            self.find_recogniser()
            begin = at
            waiting = (lambda: bool(a.recogniser) and os.path.exists(a.recogniser)) if self.recogniser is None else None
            used = self.stretch("vq", t * (1 - begin), self.step_vq, lambda f: base(begin + (1 - begin) * f),
                                revive=True, until=waiting)
            at = begin + (1 - begin) * used
        self.model.tie_channels()
        self.save("codec_a")

    def phase_b(self):
        self.find_recogniser()
        for p in self.all_params:
            p.requires_grad_(False)
        for p in self.dec_params:
            p.requires_grad_(True)
        kept = self.state.get("ema") if self.state else None
        self.ema = [e.to(self.dev) for e in kept] if kept else [p.detach().clone() for p in self.dec_params]
        a = self.a
        if a.b_warm > 0:
            self.stretch("disc", a.b_warm, self.step_disc, lambda f: 0.0, until=self.stopped)
        start = time.time()
        end = a.b_end_at or start + a.b_seconds
        while end - time.time() > 1 and not self.stopped():  # once more when the recogniser joins
            self.find_recogniser()
            begin, alone = (time.time() - start) / (end - start), self.recogniser is None

            def joined():
                return self.stopped() or alone and bool(a.recogniser) and os.path.exists(a.recogniser)

            self.stretch("dec", end - time.time(), self.step_dec,
                         lambda f: lr_at(begin + (1 - begin) * f, a.b_lr, warm=0.01, floor=0.0), until=joined)
        raw = {k: v.clone() for k, v in self.model.state_dict().items()}
        with torch.no_grad():
            for p, e in zip(self.dec_params, self.ema):
                p.copy_(e)
        self.model.tie_channels()
        self.say("with averaged weights |", self.validate())
        self.save("codec_b", raw=raw, ema=[e.cpu() for e in self.ema])

    def stopped(self):
        """True (phase B ends early) when a file STOP lies in the output folder."""
        return os.path.exists(f"{self.a.out}/STOP")


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--shards", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--a-seconds", type=float, default=600)
    ap.add_argument("--b-seconds", type=float, default=600)
    ap.add_argument("--b-warm", type=float, default=0, help="seconds in which only the discriminators learn")
    ap.add_argument("--b-end-at", type=float, default=0, help="epoch second at which phase B ends")
    ap.add_argument("--bypass", type=float, default=0.03, help="fraction of phase A before the quantizer comes in")
    ap.add_argument("--few", type=float, default=0.3, help="share of items that use only some of the codebooks")
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--frames", type=int, default=40)
    ap.add_argument("--gan-crop", type=int, default=28800, help="samples the discriminators see, a multiple of 120")
    ap.add_argument("--lr", type=float, default=8e-4)
    ap.add_argument("--b-lr", type=float, default=4e-4)
    ap.add_argument("--min-shards", type=int, default=20)
    ap.add_argument("--save-every", type=float, default=240, help="seconds between checkpoints")
    ap.add_argument("--graphs", type=int, default=1)
    ap.add_argument("--compile", type=int, default=1)
    ap.add_argument("--hours", type=float, default=60)
    ap.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ap.add_argument("--config", help="codec config.json (default: the starter's sizes)")
    ap.add_argument("--recogniser", help="recogniser.pt; joins the loss when the file appears")
    ap.add_argument("--resume", help="codec_a.pt, codec_b.pt or a model.safetensors to continue from")
    ap.add_argument("--resume-discs", help="discriminators.safetensors, with a model.safetensors")
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    log = open(f"{a.out}/codec.log", "a")

    def say(*m):
        s = " ".join(str(x) for x in m)
        print(s, flush=True)
        log.write(s + "\n")
        log.flush()

    trainer = Trainer(a, say)
    trainer.wait_for_audio()
    if a.a_seconds > 0:
        trainer.phase_a()
    if a.b_seconds > 0:
        trainer.phase_b()


if __name__ == "__main__":
    main()
