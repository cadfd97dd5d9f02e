/** What int8 costs: the codec with eight-bit weights against the same codec in fp32, on the starter's own voices. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Engine } from "./engine.ts";

const STARTER = join(import.meta.dirname, "../../native/models/starter");

const voices = readdirSync(join(STARTER, "voices")).map((file) => {
  const voice = JSON.parse(readFileSync(join(STARTER, "voices", file), "utf8")) as {
    name: string;
    n_vq: number;
    codes: number[][];
  };
  return { name: voice.name, books: voice.n_vq, codes: Int32Array.from(voice.codes.flat()) };
});

let exact: Engine;
let fast: Engine;

beforeAll(async () => {
  const codecFolder = join(STARTER, "codec");
  const load = (precision: "fp32" | "int8") =>
    Engine.load({ codecFolder, device: "cpu", precision, threads: 1 });
  [exact, fast] = await Promise.all([load("fp32"), load("int8")]);
});
afterAll(() => Promise.all([exact.close(), fast.close()]));

/** Power of the signal over the power of what differs, in dB. */
function signalToNoise(signal: Float32Array, other: Float32Array): number {
  let power = 0;
  let noise = 0;
  for (const [i, sample] of signal.entries()) {
    power += sample ** 2;
    noise += (sample - (other[i] ?? 0)) ** 2;
  }
  return 10 * Math.log10(power / noise);
}

it.each(voices)(
  "int8 decodes $name at least 30 dB above what it adds",
  async ({ codes, books }) => {
    const [wanted, found] = await Promise.all([
      exact.decode(codes, books),
      fast.decode(codes, books),
    ]);
    expect(found.pcm.length).toBe(wanted.pcm.length);
    const db = signalToNoise(wanted.pcm, found.pcm);
    expect(db).toBeGreaterThan(30);
  },
);
