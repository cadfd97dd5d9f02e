/** The engine with its real backend and a tiny model: equality, refusals, memory. */
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine, resample } from "./engine.ts";
import { ADDON_PATH, loadAddon } from "./native.ts";
import type { EngineStream } from "./stream.ts";
import { residentMb } from "./test-memory.ts";
import { talk, talkativeModel } from "./test-model.ts";
import type { GenerateOptions } from "./types.ts";

const model = talkativeModel();
let engine: Engine;

beforeAll(async () => {
  engine = await Engine.load({ ...model.options, limits: { maxSequences: 16, maxWaiting: 600 } });
});
afterAll(async () => {
  await engine.close();
  model.remove();
});

const bytes = (pcm: Float32Array) => new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);

/** Everything a stream delivers; of the audio, what is needed to compare it. */
async function read(stream: EngineStream) {
  const hash = createHash("sha256");
  const codes: number[] = [];
  let frames = 0;
  for await (const chunk of stream) {
    expect(chunk.firstFrame).toBe(frames);
    frames += chunk.frames;
    hash.update(bytes(chunk.pcm));
    codes.push(...(chunk.codes ?? []));
  }
  return { frames, pcm: hash.digest("hex"), codes };
}

const untilIdle = async () => {
  while (engine.stats().live + engine.stats().waiting > 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe("generation", () => {
  it("gives the same alone and beside fifteen others", async () => {
    const requests = Array.from({ length: 16 }, (_, i) => ({
      ...talk(engine.info, 20 + i, i),
      wantCodes: true,
    }));
    const alone = [];
    for (const request of requests) alone.push(await read(engine.generate(request)));
    const together = await Promise.all(requests.map((request) => read(engine.generate(request))));
    expect(together.map(({ frames }) => frames)).toEqual(requests.map((_, i) => 20 + i));
    expect(together).toEqual(alone);
    expect(new Set(alone.map(({ pcm }) => pcm)).size).toBe(16);
  });

  it("gives the same with other threads, chunks and slices", async () => {
    const request = { ...talk(engine.info, 40, 3), wantCodes: true };
    const expected = await read(engine.generate(request));
    const other = await Engine.load({
      ...model.options,
      threads: 4,
      limits: { prefillSliceRows: 3 },
    });
    expect(await read(other.generate(request))).toEqual(expected);
    const chunks = { firstFrames: 2, growth: 1.5, maxFrames: 7 };
    expect(await read(engine.generate({ ...request, chunks }))).toEqual(expected);
    await other.close();
  });

  it("makes no more than the buffer holds until the reader takes something", async () => {
    const stream = engine.generate({ ...talk(engine.info, 50), bufferFrames: 5 });
    await stream.next();
    await read(engine.generate(talk(engine.info, 30))); // thirty steps: time enough to fill it
    const reached = engine.stats();
    await read(engine.generate(talk(engine.info, 30)));
    expect(engine.stats().frames).toBe(reached.frames + 30);
    const rest = [];
    for await (const chunk of stream) rest.push(chunk.frames);
    expect(rest.length).toBe(49);
    expect((await stream.finished).stats.pausedMs).toBeGreaterThan(0);
  });

  it("lets go of a cancelled generation within a frame", async () => {
    const stream = engine.generate(talk(engine.info, 1500));
    await stream.next();
    stream.cancel();
    const made = engine.stats().frames;
    const { reason } = await stream.finished;
    expect(reason).toBe("cancelled");
    expect(engine.stats().live).toBe(0);
    // The tick in which the cancel came, and perhaps one that began before it.
    expect(engine.stats().frames - made).toBeLessThanOrEqual(2);
  });

  it("hands out samples that can be kept and transferred", async () => {
    const { value } = await engine.generate(talk(engine.info, 3)).next();
    const { codec } = engine.info;
    expect(value?.pcm.length).toBe((codec?.frameSamples ?? 0) * (codec?.channels ?? 0));
    expect(value?.pcm.some((sample) => sample !== 0)).toBe(true);
    expect(structuredClone(value?.pcm)).toEqual(value?.pcm);
    await untilIdle();
  });
});

describe("integers", () => {
  it.each([1, 2] as const)(
    "are the samples of each chunk, clipped and rounded down: %i channels",
    async (channels) => {
      for (const frames of [1, 4]) {
        const chunks = { firstFrames: frames, growth: 1, maxFrames: frames };
        const request = { ...talk(engine.info, 8, 2), channels, chunks };
        const sizes: number[] = [];
        const floats = engine.generate(request);
        for await (const chunk of engine.generate({ ...request, pcm16: true })) {
          sizes.push(chunk.frames);
          const { value } = await floats.next();
          expect(value?.pcm16).toBeUndefined();
          const integers = Int16Array.from(value?.pcm ?? [], (sample) => {
            const clipped = Math.min(1, Math.max(-1, sample));
            return Math.floor((clipped * (2 ** 31 - 1) + 0.5) / 2 ** 16);
          });
          expect(integers.some((sample) => sample !== 0)).toBe(true);
          expect(chunk.pcm16).toEqual(integers);
          expect(chunk.pcm).toHaveLength(0);
          expect(structuredClone(chunk.pcm16)).toEqual(chunk.pcm16);
        }
        expect(sizes).toEqual(new Array(8 / frames).fill(frames));
      }
    },
  );
});

describe("encode and decode", () => {
  it("decodes what a stream delivers and encodes what was decoded", async () => {
    const spoken = await read(engine.generate({ ...talk(engine.info, 12), wantCodes: true }));
    const decoded = await engine.decode(Int32Array.from(spoken.codes), 4);
    expect(decoded.frames).toBe(12);
    expect(createHash("sha256").update(bytes(decoded.pcm)).digest("hex")).toBe(spoken.pcm);
    const codes = await engine.encode(decoded.pcm, decoded.channels, decoded.sampleRate);
    expect(codes.length).toBe(12 * 4);
    expect(await engine.encode(decoded.pcm, 2, decoded.sampleRate)).toEqual(codes);
  });

  it("takes any sample rate", async () => {
    const pcm = Float32Array.from({ length: 16000 }, (_, i) => Math.sin(i / 5));
    expect((await engine.encode(pcm, 1, 16000)).length).toBe(Math.floor(4800 / 192) * 4);
    expect((await resample(pcm, 16000, 4800)).length).toBe(4800);
    await expect(resample(pcm, 10, 4800)).rejects.toMatchObject({ code: "bad_request" });
  });

  it("can be aborted", async () => {
    const abort = new AbortController();
    const encoding = engine.encode(new Float32Array(4_800_000), 1, 4800, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(encoding).rejects.toThrow("enough");
  });
});

describe("refusals", () => {
  const refuse = (change: Record<string, unknown>) => () =>
    engine.generate({ ...talk(engine.info, 5), ...change } as GenerateOptions);
  const bad = (message: string) => expect.objectContaining({ code: "bad_request", message });

  it("name the option, what is allowed and what came", async () => {
    expect(refuse({ maxFrames: "x" })).toThrow(
      bad("Expected integer between 1 and 1048576 for maxFrames but received 'x' of type string"),
    );
    expect(refuse({ maxFrames: 1.5 })).toThrow(/but received 1\.5 of type number/);
    expect(refuse({ textRows: [1, 2] })).toThrow(
      bad("Expected Int32Array for textRows but received a value of type object"),
    );
    expect(refuse({ sampling: { seed: -1 } })).toThrow(/for sampling\.seed but received -1/);
    expect(refuse({ sampling: { seed: 2n ** 64n } })).toThrow(/bigint between 0 and/);
    expect(refuse({ sampling: { audioTemperature: Number.NaN } })).toThrow(
      /Expected finite number for sampling\.audioTemperature but received NaN/,
    );
    expect(refuse({ chunks: null })).toThrow(/Expected object for chunks but received null/);
    expect(refuse({ wantCodes: 1 })).toThrow(/Expected boolean for wantCodes/);
    expect(refuse({ pcm16: "yes" })).toThrow(/Expected boolean for pcm16 but received 'yes'/);
    expect(refuse({ textRows: new Int32Array(3) })).toThrow(/do not make whole rows of 5/);
    await expect(engine.encode(new Float32Array(400), 3, 4800)).rejects.toMatchObject(
      bad("Expected integer between 1 and 2 for channels but received 3 of type number"),
    );
    expect(engine.stats().failed).toBe(0);
  });

  it("cover loading", async () => {
    const load = (change: object) => Engine.load({ ...model.options, ...change });
    await expect(load({ device: "cuda:999" })).rejects.toMatchObject({ code: "unsupported" });
    for (const device of ["tpu", "cuda:", "cuda:x"]) {
      await expect(load({ device })).rejects.toMatchObject(
        bad(`Expected the device 'auto', 'cpu', 'cuda' or 'cuda:N', not '${device}'`),
      );
    }
    await expect(load({ lmFolder: "/nowhere" })).rejects.toMatchObject({ code: "model_missing" });
    await expect(load({ limits: { maxSequences: -1 } })).rejects.toMatchObject({
      code: "bad_request",
    });
  });

  it("do not come of a GPU that is not asked for by name", async () => {
    // The addon beside a library that stands in for the CUDA backend.
    const folder = mkdtempSync(join(tmpdir(), "sonant-device-"));
    const addonBeside = (kind: string) => {
      const path = join(folder, kind);
      cpSync(join(dirname(ADDON_PATH), "test-devices", kind), path, { recursive: true });
      cpSync(ADDON_PATH, join(path, "sonant.node"));
      return loadAddon(join(path, "sonant.node"));
    };
    const { lmFolder = "", codecFolder = "" } = model.options;
    const options = { lmFolder, codecFolder, threads: 1 };
    try {
      await using gpu = await Engine.load(options, addonBeside("works"));
      expect(gpu.info).toMatchObject({ device: "cuda", precision: "bf16", note: null });
      // Limits that nobody sets follow what was taken.
      expect(gpu.info.limits).toMatchObject({ maxSequences: 512, prefillSliceRows: 2048 });
      const limits = { maxSequences: 3, prefillSliceRows: 7, encodeSliceFrames: 0 };
      await using set = await Engine.load({ ...options, limits }, addonBeside("works"));
      expect(set.info.limits).toMatchObject({ ...limits, encodeSliceFrames: 32 });
      const unusable = addonBeside("no-driver");
      await using cpu = await Engine.load(options, unusable);
      const sentence = "There is no NVIDIA driver on this machine.";
      expect(cpu.info).toMatchObject({
        device: "cpu",
        precision: "int8",
        note: `No GPU was taken: ${sentence}`,
        limits: { maxSequences: 32, prefillSliceRows: 64, encodeSliceFrames: 8 },
      });
      await expect(Engine.load({ ...options, device: "cuda" }, unusable)).rejects.toMatchObject({
        code: "unsupported",
        message: sentence,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("come when there is no room", async () => {
    const small = await Engine.load({
      ...model.options,
      limits: { maxSequences: 1, maxWaiting: 1 },
    });
    const streams = [0, 1].map(() => small.generate(talk(small.info, 1500)));
    expect(() => small.generate(talk(small.info, 5))).toThrow(
      expect.objectContaining({
        code: "overloaded",
        message: "1 requests are waiting and at most 1 may.",
      }),
    );
    for (const stream of streams) stream.cancel();
    await Promise.all(streams.map(({ finished }) => finished));
    expect((await read(small.generate(talk(small.info, 5)))).frames).toBe(5);
    await small.close();
  });

  it("come from a closed engine", async () => {
    const closed = await Engine.load(model.options);
    const stream = closed.generate(talk(closed.info, 1500));
    await stream.next();
    await Promise.all([closed.close(), closed.close()]);
    expect((await stream.finished).reason).toBe("cancelled");
    expect(() => closed.generate(talk(closed.info, 5))).toThrow(
      expect.objectContaining({ code: "closed" }),
    );
    expect(() => closed.stats()).toThrow(expect.objectContaining({ code: "closed" }));
    await closed.close();
  });
});

it("the addon carries the version of the package", () => {
  const manifest = createRequire(import.meta.url)("../../package.json") as { version: string };
  expect(loadAddon().version).toBe(manifest.version);
});

describe("memory", () => {
  it("does not grow over 500 cancelled and 500 finished generations", async () => {
    const batch = async (n: number) => {
      for (let i = 0; i < n; i += 10) {
        const streams = Array.from({ length: 10 }, (_, k) => {
          const isCancelled = k % 2 === 0;
          return {
            isCancelled,
            stream: engine.generate(talk(engine.info, isCancelled ? 500 : 6, k)),
          };
        });
        await Promise.all(
          streams.map(async ({ isCancelled, stream }) => {
            if (!isCancelled) return read(stream);
            for await (const chunk of stream) if (chunk.firstFrame >= i % 3) break;
            return stream.finished;
          }),
        );
      }
    };
    const cancelledBefore = engine.stats().cancelled;
    await batch(200);
    const marks = [await residentMb()];
    for (let i = 0; i < 4; i++) {
      await batch(200);
      marks.push(await residentMb());
    }
    // V8 takes room in steps of up to 16 MB whenever it likes; what is lost with each request shows every time.
    const growth = Math.min(...marks.slice(1).map((mark, i) => mark - (marks[i] ?? mark)));
    expect(engine.stats().cancelled - cancelledBefore).toBe(500);
    expect(engine.stats()).toMatchObject({ live: 0, waiting: 0, sequenceBytes: 0 });
    // A sequence of this model that is not given back keeps some 160 kB, so 200 of them 32 MB.
    expect(growth).toBeLessThan(4);
  });
});
