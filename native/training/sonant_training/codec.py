"""The causal audio codec: 48 kHz stereo in, 12.5 frames a second of 16 codes out, and back.

Patching and windowed causal transformers, no convolutions over time. One configuration dictionary in the published
format builds any size, so the same class reads this project's checkpoint and the official one.
"""
from __future__ import annotations

import json

import torch
import torch.nn as nn
import torch.nn.functional as F

from .codec_layers import Patch, ResidualQuantizer, Stage
from .tensors import read_safetensors


def codec_config(d_model=192, heads=3, layers=(3, 2, 2, 4), mid=256, contexts=(0.8, 1.6, 3.2, 3.2),
                 rvq_dim=512, n_q=16, codebook_size=1024, codebook_dim=8) -> dict:
    """Configuration in the published format; the defaults are the starter's sizes (contexts in seconds)."""
    code_dim = d_model * 4

    def tr(inp, out, n, ctx):
        return dict(module_type="Transformer", input_dimension=inp, output_dimension=out, d_model=d_model,
                    num_heads=heads, num_layers=n, dim_feedforward=4 * d_model, causal=True, norm="layer_norm",
                    positional_embedding="rope", max_period=10000, gating="none", layer_scale=0.01,
                    conv_layout=True, context_duration=ctx)

    def patch(p):
        return dict(module_type="PatchedPretransform", patch_size=p)

    enc = [patch(240), tr(240, mid, layers[0], contexts[0]), patch(2), tr(2 * mid, mid, layers[1], contexts[1]),
           patch(2), tr(2 * mid, mid, layers[2], contexts[2]), patch(2), tr(2 * mid, d_model, layers[3], contexts[3]),
           patch(4)]
    dec = [patch(4), tr(d_model, 2 * mid, layers[3], contexts[3]), patch(2), tr(mid, 2 * mid, layers[2], contexts[2]),
           patch(2), tr(mid, 2 * mid, layers[1], contexts[1]), patch(2), tr(mid, 240, layers[0], contexts[0]),
           patch(240)]
    return dict(model_type="moss-audio-tokenizer", architectures=["MossAudioTokenizerModel"], sample_rate=48000,
                sampling_rate=48000, downsample_rate=3840, causal_transformer_context_duration=10.0,
                number_channels=2, enable_channel_interleave=True, attention_implementation="sdpa",
                compute_dtype="fp32", dtype="float32", code_dim=code_dim, encoder_kwargs=enc, decoder_kwargs=dec,
                quantizer_type="rlfq",
                quantizer_kwargs=dict(quantizer_type="rlfq", input_dim=code_dim, rvq_dim=rvq_dim, output_dim=code_dim,
                                      num_quantizers=n_q, codebook_size=codebook_size, codebook_dim=codebook_dim,
                                      quantizer_dropout=1.0, commitment_loss_weight=0.25, codebook_loss_weight=1.0))


class Codec(nn.Module):
    def __init__(self, cfg: dict, init_scale=None):
        super().__init__()
        self.cfg = cfg
        self.hop, self.channels = cfg["downsample_rate"], cfg["number_channels"]
        rate = float(cfg["sampling_rate"] * self.channels)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for part, down in ((cfg["encoder_kwargs"], True), (cfg["decoder_kwargs"], False)):
            for m in part:
                dst = self.encoder if down else self.decoder
                if m["module_type"] == "Transformer":
                    dst.append(Stage(m, int(round(rate * m["context_duration"])), init_scale))
                else:
                    dst.append(Patch(m["patch_size"], down))
                    rate = rate / m["patch_size"] if down else rate * m["patch_size"]
        self.quantizer = ResidualQuantizer(cfg["quantizer_kwargs"])

    def analyse(self, wav):
        """(B, 2, samples), samples a multiple of the hop -> encoder output (B, C, frames)."""
        x = wav.transpose(1, 2).reshape(wav.shape[0], -1, 1)
        for m in self.encoder:
            x = m(x)
        return x.transpose(1, 2)

    def synthesise(self, z):
        """(B, C, frames) -> (B, 2, samples)."""
        x = z.transpose(1, 2)
        for m in self.decoder:
            x = m(x)
        return x.reshape(x.shape[0], -1, self.channels).transpose(1, 2)

    def synthesise_mono(self, z):
        """As synthesise, but only the mean of the two channels (all that mono training data determine): (B, samples).

        The last projection runs in float32: bfloat16 output would put a noise floor under the audio.
        """
        return self.last_tokens(z)[1]

    def last_tokens(self, z):
        """As synthesise_mono, and what the last projection makes it from: ((B, patches, d), (B, samples))."""
        x = z.transpose(1, 2)
        for m in self.decoder[:-2]:
            x = m(x)
        last = self.decoder[-2]
        x = last.body(x)
        with torch.autocast("cuda", enabled=False):
            return x, F.linear(x.float(), last.output_proj.weight.unflatten(0, (-1, 2)).mean(1)).flatten(1)

    @torch.no_grad()
    def encode(self, wav):
        """(B, 2, samples), any length -> codes (N, B, frames)."""
        return self.quantizer.encode(self.analyse(F.pad(wav, (0, -wav.shape[-1] % self.hop))))

    @torch.no_grad()
    def decode(self, codes):
        """(N, B, frames) -> (B, 2, samples)."""
        return self.synthesise(self.quantizer.decode(codes)).float()

    @torch.no_grad()
    def tie_channels(self):
        """Make both channels equal in the first and last projection: mono data cannot tell them apart."""
        for w, dim in ((self.encoder[1].input_proj.weight, 1), (self.decoder[-2].output_proj.weight, 0)):
            p = w.unflatten(dim, (-1, 2)).mean(dim + 1, keepdim=True)
            w.copy_(p.expand(*p.shape[:dim + 1], 2, *p.shape[dim + 2:]).flatten(dim, dim + 1))

    def layers(self):
        return [x for stage in list(self.encoder) + list(self.decoder) if isinstance(stage, Stage)
                for x in stage.transformer.layers]

    def compile_layers(self, **options):
        """Compile the transformer layers for training; everything else keeps running as written."""
        torch._dynamo.config.recompile_limit = 128
        for layer in self.layers():
            layer.fast = torch.compile(layer.forward, dynamic=False, **options)

    def run_as_written(self):
        for layer in self.layers():
            layer.fast = None


def read_codec(folder) -> Codec:
    """A folder in the published layout: config.json and model.safetensors."""
    codec = Codec(json.load(open(f"{folder}/config.json")))
    codec.load_state_dict(read_safetensors(f"{folder}/model.safetensors"))
    return codec.eval()
