"""Trains the SentencePiece BPE tokenizer with the published options and special pieces.

Usage: python3 -m sonant_training.tokenizer TEXTS.json OUT_PREFIX [vocabulary size]
"""
from __future__ import annotations

import json
import os
import sys
import tempfile

SPECIAL = ("<|im_start|> <|im_end|> <|audio_start|> <|audio_end|> <|vision_pad|> <|video_pad|> <|vision_start|> "
           "<|vision_end|> <|audio_pad|> <user_inst> </user_inst>").split()
TEMPLATE = ("user <user_inst> - Reference(s): None - Instruction: None - Tokens: None - Quality: None - Sound Event: "
            "None - Ambient Sound: None - Language: None - Text: </user_inst> assistant")


def main():
    import sentencepiece as spm
    t = json.load(open(sys.argv[1]))
    vocab = int(sys.argv[3]) if len(sys.argv) > 3 else 768
    lines = t["tm"] + t["ex"][:30000] + t["fo"][:8000] + t["gl"][:14000] + t["short"]
    lines += [TEMPLATE] * 9000  # often enough that its words become single pieces
    lines += ["- Instruction: None - Tokens: None - Quality: None"] * 3000
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as f:
        f.write("\n".join(lines))
    spm.SentencePieceTrainer.train(
        input=f.name, model_prefix=sys.argv[2], model_type="bpe", vocab_size=vocab, character_coverage=0.99995,
        byte_fallback=True, user_defined_symbols=SPECIAL, unk_id=0, bos_id=1, eos_id=2, pad_id=3, pad_piece="<pad>",
        max_sentence_length=65536, hard_vocab_limit=False, minloglevel=2)
    os.unlink(f.name)


if __name__ == "__main__":
    main()
