"""Times the same language model in plain PyTorch: eager, bf16, one frame after another, as the published implementation runs.

The other side of the comparison in docs/measurements.md. Weights are random; the shapes are those of
native/shapes/moss-tts-nano. Run it where PyTorch and a GPU are:

    PYTHONPATH=native/training python3 native/bench/peer.py --batches 1,32
"""
import argparse
import json
import statistics
import time

import torch
from sonant_training import generate as generation
from sonant_training.lm import MossLM, lm_config
from sonant_training.prompts import ASSISTANT_SLOT, AUDIO_END


def frame_ms(lm, batch, rows, frames):
    """Median milliseconds of a frame after a prompt of `rows` rows: the loop of sampling, watched between frames."""
    prompt = torch.randint(0, 1024, (rows, lm.n_vq + 1))
    prompt[:, 0] = ASSISTANT_SLOT
    times = []
    forward = lm.transformer.forward

    def watched(*arguments, **named):
        torch.cuda.synchronize()
        times.append(time.perf_counter())
        return forward(*arguments, **named)

    lm.transformer.forward = watched
    try:
        generation.generate(lm, [prompt] * batch, frames)
    finally:
        lm.transformer.forward = forward
    # The first two hold the prompt and what PyTorch makes once.
    return 1000 * statistics.median(b - a for a, b in zip(times[2:], times[3:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", default="1,32", help="how many sequences at a time")
    parser.add_argument("--rows", type=int, default=146, help="rows of the prompt")
    parser.add_argument("--frames", type=int, default=30)
    options = parser.parse_args()
    torch.manual_seed(0)
    lm = MossLM(lm_config(hidden=768, heads=12, layers=12, vocab=16384, max_positions=32768)).to("cuda", torch.bfloat16).eval()
    with torch.no_grad():  # "go on" always wins, so that no frame is cut short
        lm.local_transformer.ln_f.bias.fill_(1)
        lm.transformer.wte.weight[AUDIO_END] = -1
        lm.transformer.wte.weight[ASSISTANT_SLOT] = 1
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "precision": "bf16", "rows": options.rows}
    for batch in map(int, options.batches.split(",")):
        result[f"frame_ms_batch_{batch}"] = round(frame_ms(lm, batch, options.rows, options.frames), 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
