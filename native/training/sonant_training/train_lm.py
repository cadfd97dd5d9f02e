"""Trains the language model on code files that may keep growing in number while it runs.

Usage: python3 -m sonant_training.train_lm --codes DIR --tokenizer tokenizer.model --out DIR --seconds N
"""
from __future__ import annotations

import argparse
import json
import math
import os
import time

import torch
import torch.nn as nn

from .batches import Corpus, Maker, load_codes, part_files, producer
from .graphs import Graphed
from .lm import MossLM, lm_config
from .speakers import READER, speakers
from .tensors import BOOKS, CODES, half, read_safetensors

BOOK_WEIGHTS = (2, 1.7, 1.5, 1.3, 1.2, 1.1, 1, 1, .9, .9, .8, .8, .7, .7, .6, .6)  # the first codes carry most


def schedule(frac, peak, warm=0.015, floor=0.01):
    """Cosine decay after a linear warm-up; frac of the time, 0 to 1."""
    if frac < warm:
        return peak * (0.02 + 0.98 * frac / warm)
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, (frac - warm) / (1 - warm)))))


class FrameTable:
    """All codes of the known part files on the device, (1 + capacity, 16), filled from the front; row 0 is the pad."""

    def __init__(self, folder, manifest, device, hours):
        self.folder, self.manifest, self.device = folder, manifest, device
        self.paths, self.used = [], 1
        self.table = torch.full((1 + int(hours * 45000), BOOKS), CODES, dtype=torch.int16, device=device)

    @property
    def hours(self):
        return self.used / 45000

    def refresh(self):
        """Append new part files, then tell the producers."""
        new = [p for p in part_files(self.folder) if p not in self.paths]
        for p in new:
            codes = torch.from_numpy(load_codes([p]))
            if self.used + len(codes) > len(self.table):
                return 0
            self.table[self.used:self.used + len(codes)] = codes.to(self.device)
            self.used += len(codes)
            self.paths.append(p)
        if new:
            with open(self.manifest + ".tmp", "w") as f:
                f.write("\n".join(self.paths))
            os.rename(self.manifest + ".tmp", self.manifest)
        return len(new)

    def rows(self, col, fi):
        """Text column and frame numbers, each (B, T) -> rows (B, T, 17)."""
        return torch.cat((col.long()[..., None], self.table[(fi + 1).long()].long()), -1)


def reader_boost(times):
    """The reader's own clips are few: draw each one `times` times per epoch."""
    return {s["id"]: times if s["name"] == READER else max(1, times // 4)
            for s in speakers() if s["engine"] == "human"}


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--codes", required=True, help="folder of part files; training starts with those that exist")
    ap.add_argument("--held", help="folder of part files for validation")
    ap.add_argument("--min-parts", type=int, default=1)
    ap.add_argument("--tokenizer", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--seconds", type=float, default=600)
    ap.add_argument("--end-at", type=float, default=0, help="epoch second at which to end, instead of --seconds")
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--budget", type=int, default=32768, help="rows in a batch, padding included")
    ap.add_argument("--frames", type=int, default=10240, help="frames predicted in a batch")
    ap.add_argument("--full", type=int, default=4096, help="of these, frames whose 16 codes are all predicted")
    ap.add_argument("--hours", type=float, default=500, help="room for codes on the device")
    ap.add_argument("--graphs", type=int, default=1)
    ap.add_argument("--workers", type=int, default=6)
    ap.add_argument("--dropout", type=float, default=0.05)
    ap.add_argument("--noise", type=float, default=0.03)
    ap.add_argument("--max-batches", type=int, default=10 ** 9)
    ap.add_argument("--config", help="config.json of the model (default: the starter's sizes)")
    ap.add_argument("--resume", help="lm.pt, or a model.safetensors (then with a fresh optimizer)")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--reader-times", type=int, default=1, help="above 1 for readers without variations")
    ap.add_argument("--save-every", type=float, default=120)
    ap.add_argument("--compile", type=int, default=1)
    ap.add_argument("--log-every", type=int, default=500)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    import multiprocessing as mp
    log = open(f"{a.out}/lm.log", "a")

    def say(*m):
        s = " ".join(str(x) for x in m)
        print(s, flush=True)
        log.write(s + "\n")
        log.flush()

    manifest = f"{a.out}/manifest.txt"
    if os.path.exists(manifest):
        os.unlink(manifest)
    ctx = mp.get_context("fork")
    queue = ctx.Queue(maxsize=64)
    procs = [ctx.Process(target=producer, daemon=True, args=(manifest, a.tokenizer, 100 * a.seed + k, a.budget, a.frames,
                                                             reader_boost(a.reader_times), queue))
             for k in range(a.workers)]
    for p in procs:
        p.start()
    torch.manual_seed(a.seed)
    cuda = torch.cuda.is_available()
    dev = "cuda" if cuda else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    if cuda:  # cuDNN's attention plans anew for every batch shape: three times slower here
        torch.backends.cuda.enable_cudnn_sdp(False)
    import sentencepiece as spm
    vocab = spm.SentencePieceProcessor(model_file=a.tokenizer).get_piece_size()
    cfg = json.load(open(a.config)) if a.config else lm_config(vocab=vocab)
    model = MossLM(cfg).to(dev)
    ema, done, state = None, 0, {}
    if a.resume and a.resume.endswith(".safetensors"):
        model.load_state_dict(read_safetensors(a.resume))
    elif a.resume:
        state = torch.load(a.resume, map_location=dev)
        model.load_state_dict(state["raw"])
        ema, done = state["ema"], state["step"]
    if ema is None:
        ema = {k: v.detach().clone() for k, v in model.named_parameters()}
    for b in list(model.transformer.h) + list(model.local_transformer.h):
        b.p_drop = a.dropout
    weights = torch.tensor(BOOK_WEIGHTS, device=dev)
    weights = weights / weights.sum()
    opt = torch.optim.AdamW([dict(params=[p for p in model.parameters() if p.dim() > 1], weight_decay=0.05),
                             dict(params=[p for p in model.parameters() if p.dim() <= 1], weight_decay=0.0)],
                            lr=torch.tensor(a.lr, device=dev) if cuda else a.lr, betas=(0.9, 0.95),
                            **(dict(fused=True, capturable=True) if cuda else {}))
    if "opt" in state:
        opt.load_state_dict(state["opt"])

    params = list(model.parameters())
    averages = [ema[k] for k, _ in model.named_parameters()]
    steps, pool = {}, torch.cuda.graph_pool_handle() if cuda else None

    def losses(batch, **kw):
        with half(dev):
            return model.loss(*batch, weights, **kw)

    def train(batch):
        """One optimizer step on the arrays of a batch -> (per-book losses, stop loss, gradient norm)."""
        key = batch[0].shape
        if key not in steps:
            bufs = [torch.from_numpy(x).to(dev) for x in batch]

            def step():
                col, fi, wb, wt, wf = bufs
                opt.zero_grad(set_to_none=True)
                loss, pb, stop = losses((table.rows(col, fi), wb.long(), wt.long(), wf), noise=a.noise, full=a.full)
                loss.backward()
                norm = nn.utils.clip_grad_norm_(params, 1.0)
                opt.step()
                return pb, stop, norm.detach()

            steps[key] = bufs, Graphed(step, warm=1, use=cuda and bool(a.graphs), say=say, pool=pool)
        bufs, run = steps[key]
        for buf, x in zip(bufs, batch):
            buf.copy_(torch.from_numpy(x), non_blocking=True)
        return run()

    def warm_up():
        """Compile on random rows of a few shapes, before the data exist; without a compiler train as written."""
        if not (a.compile and cuda):
            return
        t0 = time.time()
        model.compile_blocks()
        try:
            for width in (160, 96, 320, 224):
                b = a.budget // width
                rows = torch.randint(0, 700, (b, width, BOOKS + 1), device=dev)
                wb = torch.randint(0, b, (a.frames,), device=dev)
                wt = torch.randint(0, width - 1, wb.shape, device=dev)
                loss, _, _ = losses((rows, wb, wt, torch.ones_like(wb)), noise=a.noise, full=a.full)
                loss.backward()
                torch.cuda.synchronize()
                say(f"compiled for width {width} after {time.time() - t0:.0f}s")
        except Exception as e:
            say("compiling failed, running as written:", type(e).__name__, str(e)[:400])
            model.run_as_written()
        opt.zero_grad(set_to_none=True)

    model.train()
    warm_up()
    table = FrameTable(a.codes, manifest, dev, a.hours if cuda else 2)
    while len(part_files(a.codes)) < a.min_parts:
        time.sleep(0.3)
    table.refresh()
    t0 = time.time()
    while a.held and not os.path.exists(f"{a.held}/END0") and time.time() - t0 < 20:
        time.sleep(0.3)
    seconds = a.end_at - time.time() if a.end_at else a.seconds
    say("parameters", sum(p.numel() for p in model.parameters()) / 1e6, "hours", table.hours, "seconds", seconds)
    held = None
    if a.held and part_files(a.held):
        held_table = FrameTable(a.held, f"{a.out}/held.txt", dev, 10)
        held_table.refresh()
        maker = Maker(Corpus(held_table.paths), a.tokenizer, 5, a.budget, train=False)
        held = [(held_table.rows(*(torch.from_numpy(x).to(dev) for x in b[:2])),
                 *(torch.from_numpy(x).to(dev).long() for x in b[2:])) for b in maker.chunk(1024) + maker.rest()]

    def validate():
        if not held:
            return "-"
        model.eval()
        with torch.no_grad():
            m = torch.stack([torch.cat((pb, st[None])) for _, pb, st in (losses(b) for b in held)]).mean(0)
        model.train()
        return f"held cb1-4 {m[:4].mean():.3f} all {m[:16].mean():.3f} stop {m[16]:.4f}"

    def save():
        torch.save(dict(raw=model.state_dict(), ema=ema, cfg=cfg, step=step, opt=opt.state_dict()), f"{a.out}/lm.tmp")
        os.rename(f"{a.out}/lm.tmp", f"{a.out}/lm.pt")

    start = last = saved = time.time()
    step, acc, rows_seen, mark = done, [], 0, done
    while step - done < a.max_batches and not os.path.exists(f"{a.out}/STOP"):
        frac = (time.time() - start) / seconds
        if frac >= 1:
            break
        for g in opt.param_groups:
            if cuda:
                g["lr"].fill_(schedule(frac, a.lr))
            else:
                g["lr"] = schedule(frac, a.lr)
        if step % 50 == 0 and table.refresh():
            say(f"{time.time() - start:.0f}s now {table.hours:.1f} h")
        batch = queue.get()
        pb, stop, norm = train(batch)
        if step % 4 == 0:
            d = min(0.9995, (1 + step) / (30 + step)) ** 4
            torch._foreach_mul_(averages, d)
            torch._foreach_add_(averages, [p.detach() for p in params], alpha=1 - d)
        rows_seen += batch[0].size
        if step % 10 == 0:
            acc.append(torch.stack((pb[:4].mean(), pb.mean(), stop, norm)))
        step += 1
        if step % a.log_every == 0 or step in (20, 100):
            m, now = torch.stack(acc).mean(0).tolist(), time.time()
            v = validate() if step % (4 * a.log_every) == 0 else ""
            say(f"{now - start:.0f}s step {step} lr {schedule(frac, a.lr):.1e} "
                f"{(now - last) / max(1, step - mark) * 1000:.0f}ms cb1-4 {m[0]:.3f} all {m[1]:.3f} stop {m[2]:.4f} "
                f"gn {m[3]:.2f} rows/s {rows_seen / (now - last):.0f} queue {queue.qsize()}", v)
            acc, rows_seen, last, mark = [], 0, time.time(), step
        if time.time() - saved > a.save_every:
            save()
            saved = time.time()
    say("end", step, "raw", validate())
    save()
    with torch.no_grad():
        for k, p in model.named_parameters():
            p.copy_(ema[k])
    say("averaged", validate())
    open(f"{a.out}/LM_DONE", "w").write(str(step))
    for p in procs:
        p.kill()
    os._exit(0)


if __name__ == "__main__":
    main()
