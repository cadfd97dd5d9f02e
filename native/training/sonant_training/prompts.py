"""Special ids, the prompt template and the rows built from it, in the published format."""
from __future__ import annotations

import torch

from .tensors import BOOKS, CODES

USER_ROLE = "user\n"
REFERENCE = "<user_inst>\n- Reference(s):\n"
AFTER_REFERENCE = ("\n- Instruction:\nNone\n- Tokens:\nNone\n- Quality:\nNone\n- Sound Event:\nNone\n"
                   "- Ambient Sound:\nNone\n- Language:\nNone\n- Text:\n")
USER_END = "\n</user_inst>"
ASSISTANT_TURN = "\n"
ASSISTANT_ROLE = "assistant\n"
PAD, IM_START, IM_END, AUDIO_START, AUDIO_END, USER_SLOT, ASSISTANT_SLOT, AUDIO_PAD = 3, 4, 5, 6, 7, 8, 9, CODES


class Template:
    """Token ids around the reference and the text. `encode` turns a string into ids."""

    def __init__(self, encode):
        self.head = [IM_START] + encode(USER_ROLE) + encode(REFERENCE)
        self.none = encode("None")
        self.mid = encode(AFTER_REFERENCE)
        self.tail = encode(USER_END) + [IM_END] + encode(ASSISTANT_TURN) + [IM_START] + encode(ASSISTANT_ROLE)

    def prompt(self, text_ids, ref=None):
        """-> (text column up to and with audio_start, row at which the reference's codes begin or None)."""
        if ref is None:
            return self.head + self.none + self.mid + list(text_ids) + self.tail + [AUDIO_START], None
        col = self.head + [AUDIO_START] + [USER_SLOT] * len(ref) + [AUDIO_END] + self.mid + list(text_ids) \
            + self.tail + [AUDIO_START]
        return col, len(self.head) + 1


def build_prompt(template, text_ids, ref=None, n_vq=BOOKS):
    """Prompt rows (T, 17); ref: (frames, 16) codes or None."""
    col, at = template.prompt(text_ids, ref)
    rows = torch.full((len(col), n_vq + 1), AUDIO_PAD, dtype=torch.long)
    rows[:, 0] = torch.tensor(col)
    if ref is not None:
        rows[at:at + len(ref), 1:] = torch.as_tensor(ref.tolist() if hasattr(ref, "tolist") else ref)
    return rows
