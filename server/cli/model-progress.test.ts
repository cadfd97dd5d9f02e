/** What a transfer says of itself, on a terminal and in a log. */
import { expect, it } from "vitest";
import { size, TransferProgress } from "./model-progress.ts";

function watched(isTTY: boolean) {
  let now = 0;
  const written: string[] = [];
  const out = { isTTY, write: (text: string) => written.push(text) };
  const progress = new TransferProgress(100e6, out, () => now);
  const at = (ms: number, bytes: number) => {
    now = ms;
    progress.update(bytes, "lm/model.safetensors");
  };
  return { progress, at, written };
}

it("writes a whole line now and then where nobody watches", () => {
  const { at, written } = watched(false);
  for (let second = 0; second <= 20; second++) at(second * 1000, second * 2e6);
  expect(written).toEqual([
    "  0 %, 0 B of 100.0 MB  lm/model.safetensors\n",
    " 20 %, 20.0 MB of 100.0 MB, 2.0 MB/s, 40 s left  lm/model.safetensors\n",
    " 40 %, 40.0 MB of 100.0 MB, 2.0 MB/s, 30 s left  lm/model.safetensors\n",
  ]);
});

it("draws one line anew on a terminal and takes it away for a word", () => {
  const { progress, at, written } = watched(true);
  at(0, 0);
  at(100, 1e6);
  at(1000, 10e6);
  progress.say("the connection failed");
  progress.clear();
  expect(written).toEqual([
    "\r\x1b[K  0 %, 0 B of 100.0 MB  lm/model.safetensors",
    "\r\x1b[K 10 %, 10.0 MB of 100.0 MB, 10.0 MB/s, 9 s left  lm/model.safetensors",
    "\r\x1b[K",
    "the connection failed\n",
  ]);
});

it("does not count what an earlier attempt left, nor what is fetched anew, as speed", () => {
  const { at, written } = watched(false);
  at(0, 80e6);
  at(9000, 89e6);
  at(9500, 0);
  at(10_500, 5e6);
  expect(written.at(-1)).toContain("5.0 MB/s, 19 s left");
});

it.each([
  [999, "999 B"],
  [512_000, "512 kB"],
  [470e6, "470.0 MB"],
  [1.5e9, "1.50 GB"],
])("%d bytes are %s", (bytes, text) => {
  expect(size(bytes)).toBe(text);
});
