import { describe, expect, it } from "vitest";
import type { UploadedVoice } from "../../server/protocol/voices.ts";
import { isVoiceFile, readVoiceFile, voiceFileName, writeVoiceFile } from "./voice-file.ts";

const VOICE: UploadedVoice = {
  id: "voice_1",
  name: "Zoë 語",
  consent: "Speaker: Zoë. She agreed.",
  created_at: 1_700_000_000,
  file_size: 4,
  mime_type: "audio/wav",
  embedding_source: "audio",
  embedding_dim: null,
  speaker_description: "warm",
  language: "en",
  duration_s: 3.5,
};
const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256);
const recording = { bytes, mimeType: "audio/wav" };
const written = writeVoiceFile(VOICE, recording, 0);

describe("a voice file", () => {
  it("brings back everything that makes the voice", () => {
    expect(readVoiceFile(written)).toEqual({
      name: "Zoë 語",
      consent: "Speaker: Zoë. She agreed.",
      description: "warm",
      language: "en",
      refText: undefined,
      recording,
    });
    expect(JSON.parse(written)).toMatchObject({
      exported_at: "1970-01-01T00:00:00.000Z",
      voice: { created_at: 1_700_000_000, duration_s: 3.5 },
    });
  });

  it.each([
    ["text", "foreign", "hello"],
    ["a list", "foreign", "[]"],
    ["null", "foreign", "null"],
    ["another document", "foreign", '{"format":"else"}'],
    ["another version", "newer", written.replace('"version": 1', '"version": 2')],
    ["no consent", "damaged", written.replace('"consent"', '"content"')],
    ["a blank consent", "damaged", written.replace(VOICE.consent, " ")],
    ["no recording", "damaged", written.replace('"recording"', '"record"')],
    ["another length", "damaged", written.replace('"bytes": 100000', '"bytes": 100001')],
    ["letters that are no base64", "damaged", written.replace('"base64": "', '"base64": "*')],
  ])("with %s is refused as %s", (_, code, text) => {
    expect(() => readVoiceFile(text)).toThrow(expect.objectContaining({ code }));
  });

  it("is told from recordings, and has a name that every system takes", () => {
    expect(isVoiceFile({ name: "x.sonant-voice.json", type: "" })).toBe(true);
    expect(isVoiceFile({ name: "x", type: "application/json" })).toBe(true);
    expect(isVoiceFile({ name: "x.wav", type: "audio/wav" })).toBe(false);
    expect(voiceFileName("Zoë 語")).toBe("Zoë 語.sonant-voice.json");
    expect(voiceFileName('..a/b:"c"')).toBe("_a_b_c_.sonant-voice.json");
  });
});
