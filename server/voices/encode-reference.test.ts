import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { codecFingerprint, ReferenceEncoder, sha256 } from "./encode-reference.ts";
import { BOOKS, FakeCodec, fakeModel, recording, temporaryFolder } from "./test-voices.ts";

// Preparing half a minute of sound takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

describe("ReferenceEncoder", () => {
  it("measures a recording and turns it into codes", async () => {
    const bytes = recording(3);
    const codec = new FakeCodec();
    const reference = await new ReferenceEncoder(codec, fakeModel(), "f").encode(bytes);
    expect(reference).toMatchObject({ durationSeconds: 3, sampleRate: 16_000, warnings: [] });
    expect(reference.sha256).toBe(sha256(bytes));
    expect(reference.loudnessLufs).toBeGreaterThan(-20);
    expect(reference.loudnessLufs).toBeLessThan(-10);
    const { frames, books, data } = reference.codes;
    expect(books).toBe(BOOKS);
    expect(frames).toBe(37);
    expect(data).toHaveLength(frames * books);
    // The model has one codebook less than the codec: the last of each row is left out.
    expect([...data]).toEqual([...codec.lastCodes].filter((_, i) => i % (books + 1) !== books));
  });

  it("takes the best stretch for a model with short references, all of it for another", async () => {
    const bytes = recording(20);
    const short = new ReferenceEncoder(new FakeCodec(), fakeModel(), "f");
    const limits = { ...fakeModel().limits, maxReferenceFrames: 375 };
    const long = new ReferenceEncoder(new FakeCodec(), fakeModel({ limits }), "f");
    const cut = await short.encode(bytes);
    expect(cut.codes.frames).toBeLessThanOrEqual(75);
    expect(cut.warnings).toContain("window_chosen");
    expect(cut.durationSeconds).toBe(20);
    expect((await long.encode(bytes)).codes.frames).toBe(250);
    expect(short.key).not.toEqual(long.key);
  });

  it.each([
    [0.3, "Reference audio too short (0.3s)"],
    [31, "Reference audio too long (31.0s)"],
  ])("refuses %d s", async (seconds, message) => {
    const encoder = new ReferenceEncoder(new FakeCodec(), fakeModel(), "f");
    await expect(encoder.encode(recording(seconds))).rejects.toThrow(message);
  });

  it("leaves the recording as it was, also where a thread decodes it", async () => {
    const bytes = Buffer.from(new ArrayBuffer(64));
    bytes.write("OggS");
    bytes.write("\x01vorbis", 27, "latin1");
    const encoder = new ReferenceEncoder(new FakeCodec(), fakeModel(), "f");
    await expect(encoder.encode(bytes)).rejects.toThrow("Could not decode audio file");
    expect(bytes).toHaveLength(64);
  });

  it("holds few decoded recordings at once, and lets those who wait leave", async () => {
    const codec = new FakeCodec();
    let release = () => {};
    codec.hold = new Promise((resolve) => {
      release = resolve;
    });
    const encoder = new ReferenceEncoder(codec, fakeModel(), "f");
    const controller = new AbortController();
    const running = [1, 2].map((flavour) => encoder.encode(recording(2, flavour)));
    const leaving = encoder.encode(recording(2, 3), controller.signal);
    const waiting = encoder.encode(recording(2, 4));
    controller.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    expect(codec.calls).toBeLessThanOrEqual(2);
    release();
    await Promise.all([...running, waiting]);
    expect(codec.calls).toBe(3);
  });
});

describe("codecFingerprint", () => {
  it("follows names and contents of the files", async () => {
    await using folder = await temporaryFolder();
    const prints = new Set<string>();
    const look = async () => prints.add(await codecFingerprint(folder.path));
    await writeFile(join(folder.path, "config.json"), "{}");
    await look();
    await mkdir(join(folder.path, "folder"));
    await look();
    expect(prints.size).toBe(1);
    await writeFile(join(folder.path, "model"), "1");
    await look();
    await writeFile(join(folder.path, "model"), "2");
    await look();
    expect(prints.size).toBe(3);
  });
});
