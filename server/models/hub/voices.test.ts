/** The release's list of voices: what becomes of it, and what is left out or refused. */
import { expect, it } from "vitest";
import { officialVoices } from "./voices.ts";

const frame = Array.from({ length: 16 }, (_, book) => book * 60);
const list = (...voices: unknown[]) => JSON.stringify({ builtin_voices: voices });
const voice = (name: string, extra: Record<string, unknown> = {}) => ({
  voice: name,
  prompt_audio_codes: [frame, frame],
  ...extra,
});

it("takes the language from the group, or from the recording's name", () => {
  const { voices } = officialVoices(
    list(
      voice("Junhao", { group: "Chinese Male", audio_file: "en_1.wav" }),
      voice("Mei", { display_name: "Mei", audio_file: "assets/audio/jp_5.wav" }),
      voice("Nobody"),
    ),
    false,
  );
  const read = voices.map(({ json }) => JSON.parse(json));
  expect(read[0]).toEqual({
    name: "Junhao",
    description: "Chinese Male",
    language: "zh",
    frame_rate: 12.5,
    n_vq: 16,
    codes: [frame, frame],
  });
  expect(read.map(({ language }) => language)).toEqual(["zh", "ja", undefined]);
});

it("leaves out who imitates somebody, unless all are asked for, and what cannot be used", () => {
  const text = list(
    voice("Trump"),
    voice("Saki"),
    voice("Ava"),
    voice("ava"),
    voice("Endless", { prompt_audio_codes: Array(376).fill(frame) }),
  );
  const some = officialVoices(text, false);
  expect(some.voices.map(({ name }) => name)).toEqual(["Ava"]);
  expect(some.leftOut).toEqual([
    { name: "Trump", reason: "it imitates a real person" },
    { name: "Saki", reason: "it imitates a character of a game" },
    { name: "ava", reason: "another voice has that name" },
    { name: "Endless", reason: "it has 376 frames; 1 to 375 are taken" },
  ]);
  const all = officialVoices(text, true);
  expect(all.voices.map(({ name }) => name)).toEqual(["Trump", "Saki", "Ava"]);
});

it.each([
  ["<html>", /not valid JSON/],
  ["{}", /does not fit at builtin_voices: /],
  [list(voice("../Ava")), /builtin_voices\.0\.voice: /],
  [
    list(voice("Ava", { prompt_audio_codes: [[...frame.slice(1), 1024]] })),
    /builtin_voices\.0\.prompt_audio_codes\.0\.15: /,
  ],
  [
    list(voice("Ava", { prompt_audio_codes: [frame.slice(1)] })),
    /builtin_voices\.0\.prompt_audio_codes\.0: /,
  ],
])("refuses %.60s", (text, message) => {
  expect(() => officialVoices(text, false)).toThrow(message);
});
