"""The files written here have the tensor names, shapes and number format of the published checkpoints."""
import re
import tempfile

from tiny import json, os, tiny_codec, tiny_lm, torch, unittest

from sonant_training.codec import Codec, codec_config
from sonant_training.export import codec_weights
from sonant_training.lm import MossLM, lm_config
from sonant_training.tensors import read_safetensors, write_safetensors

TIED = ("text_lm_head.weight", "audio_lm_heads.*.weight")  # copies of the embeddings, stored once here
HERE = os.path.dirname(os.path.abspath(__file__))


def published():
    """Name families (numbers replaced by *) with their number of dimensions, and tensor counts, of the full size."""
    with open(os.path.join(HERE, "published-tensors.json")) as f:
        return json.load(f)


def families(tensors):
    return {re.sub(r"\d+", "*", k.replace("original0", "original-g").replace("original1", "original-v")): v.dim()
            for k, v in tensors.items()}


class Layout(unittest.TestCase):
    def test_codec_names_and_dimensions(self):
        self.assertEqual(families(tiny_codec().state_dict()), published()["codec"])

    def test_language_model_names_and_dimensions(self):
        names = dict(published()["lm"])
        for tied in TIED:
            del names[tied]
        self.assertEqual(families(dict(tiny_lm().named_parameters())), names)

    def test_full_size_tensor_counts(self):
        counts = published()["counts"]
        codec = Codec(codec_config(layers=published()["layers"]))
        self.assertEqual(len(codec.state_dict()), counts["codec"])
        lm = MossLM(lm_config(hidden=32, heads=2, layers=12, local_layers=1))
        self.assertEqual(len(list(lm.parameters())) + 1 + 16, counts["lm"])

    def test_starter_sizes(self):
        codec, lm = Codec(codec_config()), MossLM(lm_config())
        self.assertEqual(round(sum(p.numel() for p in codec.parameters()) / 1e6, 1), 11.9)
        self.assertEqual(round(sum(p.numel() for p in lm.parameters()) / 1e6, 1), 22.6)

    def test_file_round_trip(self):
        lm = tiny_lm()
        with torch.no_grad():
            for p in lm.parameters():
                p.copy_(p.bfloat16().float())
        with tempfile.TemporaryDirectory() as tmp:
            write_safetensors(f"{tmp}/m.safetensors", dict(lm.named_parameters()), dict(format="pt"))
            back = read_safetensors(f"{tmp}/m.safetensors")
        for k, v in lm.named_parameters():
            self.assertTrue(torch.equal(v, back[k]), k)

    def test_int8_matrices_are_read_with_their_scales(self):
        values = torch.arange(-100, 100, dtype=torch.int8).reshape(2, 100)
        scale = torch.tensor([[0.5, 2.0], [1.0, 0.25]])
        head = {"w": dict(dtype="I8", shape=[2, 100], data_offsets=[0, 200]),
                "w.scale": dict(dtype="F32", shape=[2, 2], data_offsets=[200, 216])}
        text = json.dumps(head).encode()
        with tempfile.TemporaryDirectory() as tmp:
            with open(f"{tmp}/m.safetensors", "wb") as f:
                f.write(len(text).to_bytes(8, "little") + text + values.numpy().tobytes() + scale.numpy().tobytes())
            back = read_safetensors(f"{tmp}/m.safetensors")
        self.assertEqual(list(back), ["w"])
        self.assertEqual([float(back["w"][r, c]) for r, c in ((0, 0), (0, 63), (0, 64), (1, 99))],
                         [-50.0, -18.5, -72.0, 24.75])

    def test_averaged_decoder_is_exported(self):
        codec = tiny_codec()
        ema = [p.detach() * 0 + 0.25 for p in codec.decoder.parameters()]
        out = codec_weights(dict(cfg=codec.cfg, model=codec.state_dict(), ema=ema))
        self.assertTrue((out["decoder.1.input_proj.weight"] == 0.25).all())
        kept = "encoder.1.output_proj.weight"
        self.assertTrue(torch.equal(out[kept], codec.state_dict()[kept]))


if __name__ == "__main__":
    unittest.main()
