import { describe, expect, it } from "vitest";
import type { EncodedReference } from "./encode-reference.ts";
import { VoicePrompts } from "./prompts.ts";
import { codesOf } from "./test-voices.ts";

const reference: EncodedReference = {
  codes: codesOf(1),
  sha256: "00",
  durationSeconds: 2,
  sampleRate: 16_000,
  loudnessLufs: null,
  warnings: [],
};

describe("VoicePrompts", () => {
  it("remembers a reference under an id until it expires", () => {
    let now = 5_000_000;
    const prompts = new VoicePrompts({ lifetimeSeconds: 60, now: () => now });
    const { id, expiresAt } = prompts.create(reference, { name: "Ada", refText: "Hello." });
    expect(id).toMatch(/^vp_[0-9a-f]{32}$/);
    expect(expiresAt).toBe(5060);
    now = 5_059_999;
    expect(prompts.get(id, "voice")).toMatchObject({ name: "Ada", refText: "Hello.", reference });
    now = 5_060_000;
    expect(() => prompts.get(id, "voice")).toThrow(/voice prompt 'vp_\w+'.*expired/);
    expect(prompts.size).toBe(0);
  });

  it("makes room by dropping the prompt that expires first", () => {
    const prompts = new VoicePrompts({ maxPrompts: 2 });
    const [first, second, third] = [1, 2, 3].map(() => prompts.create(reference, {}).id);
    expect(prompts.size).toBe(2);
    expect(() => prompts.get(first ?? "", "ref_audio")).toThrow(/^ref_audio names/);
    for (const id of [second, third]) expect(prompts.get(id ?? "", "voice").id).toBe(id);
  });
});
