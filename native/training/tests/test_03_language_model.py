"""The language model learns, generates what it learnt, and does not look ahead."""
from tiny import tiny_lm, torch, unittest

from sonant_training.generate import generate
from sonant_training.prompts import ASSISTANT_SLOT, AUDIO_END, Template, build_prompt
from sonant_training.tensors import BOOKS

FRAMES = 4


def batch():
    """Two utterances of four frames with the rows they are predicted from."""
    template = Template(lambda s: [10 + ord(c) % 50 for c in s][:6])
    g = torch.Generator().manual_seed(5)
    prompts, rows = [], []
    for k in range(2):
        prompt = build_prompt(template, [20 + k, 30 + k], torch.full((3, BOOKS), 7 + k))
        codes = torch.randint(0, 1024, (FRAMES, BOOKS), generator=g)
        tail = torch.full((FRAMES + 1, BOOKS + 1), 1024)
        tail[:FRAMES, 0], tail[FRAMES, 0], tail[:FRAMES, 1:] = ASSISTANT_SLOT, AUDIO_END, codes
        prompts.append(prompt)
        rows.append(torch.cat((prompt, tail)))
    n = len(prompts[0])
    where_b = torch.arange(2).repeat_interleave(FRAMES + 1)
    where_t = torch.arange(n - 1, n + FRAMES).repeat(2)
    flag = (torch.arange(2 * (FRAMES + 1)) % (FRAMES + 1) < FRAMES).int()
    return prompts, torch.stack(rows), where_b, where_t, flag


class LanguageModel(unittest.TestCase):
    def test_overfits_a_tiny_batch_and_says_it(self):
        lm = tiny_lm()
        prompts, rows, wb, wt, flag = batch()
        weights = torch.full((BOOKS,), 1 / BOOKS)
        opt = torch.optim.AdamW(lm.parameters(), lr=1e-2)
        for _ in range(120):
            loss, per_book, stop = lm.loss(rows, wb, wt, flag, weights)
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.assertLess(float(per_book.mean()), 0.1)
        self.assertLess(float(stop), 0.1)
        lm.eval()
        said, stopped = generate(lm, prompts, max_frames=8, temperature=0)
        self.assertEqual(stopped, [True, True])
        for k in range(2):
            self.assertTrue(torch.equal(said[k], rows[k, -FRAMES - 1:-1, 1:]))

    def test_partial_prediction_is_the_same_loss_where_it_predicts(self):
        """With full=N the first N rows count for all codes and every row for the first four."""
        lm = tiny_lm().eval()
        _, rows, wb, wt, flag = batch()
        weights = torch.full((BOOKS,), 1 / BOOKS)
        _, every, stop = lm.loss(rows, wb, wt, flag, weights)
        _, some, stop_some = lm.loss(rows, wb, wt, flag, weights, full=5, head=4)
        _, first, _ = lm.loss(rows, wb[:5], wt[:5], flag[:5], weights)
        self.assertTrue(torch.allclose(every[:4], some[:4], atol=1e-5))
        self.assertTrue(torch.allclose(first[4:], some[4:], atol=1e-5))
        self.assertTrue(torch.allclose(stop, stop_some, atol=1e-5))

    def test_no_look_ahead(self):
        lm = tiny_lm().eval()
        rows = batch()[1]
        changed = rows.clone()
        changed[:, -2:, 1:] = 3
        with torch.no_grad():
            a, b = (lm.transformer(lm.embed(r)) for r in (rows, changed))
        self.assertTrue(torch.allclose(a[:, :-2], b[:, :-2], atol=1e-5))
        self.assertFalse(torch.allclose(a[:, -2:], b[:, -2:], atol=1e-5))

    def test_padding_codes_add_nothing(self):
        lm = tiny_lm()
        rows = torch.full((1, 3, BOOKS + 1), 1024)
        rows[..., 0] = 5
        self.assertTrue(torch.allclose(lm.embed(rows), lm.transformer.wte.weight[5].expand(1, 3, -1), atol=1e-6))


if __name__ == "__main__":
    unittest.main()
