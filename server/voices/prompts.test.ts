import { describe, expect, it } from "vitest";
import type { EncodedReference } from "./encode-reference.ts";
import { VoicePrompts } from "./prompts.ts";
import { codesOf, KEY } from "./test-voices.ts";

const reference: EncodedReference = {
  codes: codesOf(1),
  sha256: "00",
  durationSeconds: 2,
  sampleRate: 16_000,
  loudnessLufs: null,
  warnings: [],
};

describe("VoicePrompts", () => {
  it("remembers a reference under an id until it expires", async () => {
    let now = 5_000_000;
    const prompts = new VoicePrompts({ lifetimeSeconds: 60, now: () => now });
    const { id, expiresAt } = await prompts.create(reference, { name: "Ada", refText: "Hello." });
    expect(id).toMatch(/^vp_[0-9a-f]{32}$/);
    expect(expiresAt).toBe(5060);
    now = 5_059_999;
    expect(await prompts.get(id, "voice")).toMatchObject({
      name: "Ada",
      refText: "Hello.",
      reference,
    });
    now = 5_060_000;
    await expect(prompts.get(id, "voice")).rejects.toThrow(/voice prompt 'vp_\w+'.*expired/);
    expect(prompts.size).toBe(0);
  });

  it("makes room by dropping the prompt that came first", async () => {
    const prompts = new VoicePrompts({ maxPrompts: 2 });
    const creating = [1, 2, 3].map(async () => (await prompts.create(reference, {})).id);
    const [first, second, third] = await Promise.all(creating);
    expect(prompts.size).toBe(2);
    await expect(prompts.get(first ?? "", "ref_audio")).rejects.toThrow(/^ref_audio names/);
    for (const id of [second, third]) {
      expect((await prompts.get(id ?? "", "voice")).id).toBe(id);
    }
  });

  it("finds those of other servers that encode in the same way, until they expire", async () => {
    const texts = new Map<string, string>();
    let isAway = false;
    const ask = async <T>(answer: () => T): Promise<T> => {
      if (isAway) throw new Error("away");
      return answer();
    };
    const shared = {
      put: (id: string, text: string) => ask(() => void texts.set(id, text)),
      get: (id: string) => ask(() => texts.get(id)),
    };
    let now = 5_000_000;
    const open = (codesKey = KEY) =>
      new VoicePrompts({ lifetimeSeconds: 60, now: () => now, shared, codesKey });
    const [one, two] = [open(), open()];
    const made = await one.create(reference, { name: "Ada" });
    expect(await two.get(made.id, "voice")).toEqual(made);
    await expect(open({ ...KEY, codec: "other" }).get(made.id, "voice")).rejects.toThrow("vp_");
    texts.set("vp_damaged", "{}");
    await expect(two.get("vp_damaged", "voice")).rejects.toThrow("vp_damaged");
    isAway = true;
    const alone = await one.create(reference, {});
    expect(await one.get(alone.id, "voice")).toEqual(alone);
    expect(await two.get(made.id, "voice")).toEqual(made);
    await expect(two.get(alone.id, "voice")).rejects.toMatchObject({ code: "invalid_reference" });
    isAway = false;
    now = 5_060_000;
    await expect(two.get(made.id, "voice")).rejects.toThrow("expired");
  });
});
