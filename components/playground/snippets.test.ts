import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import type { TakeRequest } from "../store/takes.ts";
import { bodyOf, snippet } from "./snippets.ts";

const REQUEST: TakeRequest = {
  text: 'It\'s "quoted",\nand $HOME stays – 世界',
  voice: "clara",
  voiceName: "Clara",
  seed: 7,
  speed: 1.5,
  temperature: undefined,
  audioTemperature: 0.8,
  normalise: false,
};
const OPTIONS = { origin: "http://localhost:8091", model: "starter", needsKey: false };

it("leaves out what is as the server would have it", () => {
  const plain = { ...REQUEST, speed: 1, audioTemperature: undefined, normalise: true };
  expect(bodyOf(plain)).toEqual({ input: REQUEST.text, voice: "clara", seed: 7 });
});

it("names the take's model in every language, and the server's where the take names none", () => {
  const named = { ...REQUEST, model: "second", modelName: "Second" };
  expect(bodyOf(named)).toEqual({ ...bodyOf(REQUEST), model: "second" });
  expect(snippet("curl", named, OPTIONS)).toContain('"model": "second"');
  expect(snippet("TypeScript", named, OPTIONS)).toContain('model: "second"');
  expect(snippet("Python", named, OPTIONS)).toContain('model="second"');
  expect(snippet("curl", REQUEST, OPTIONS)).not.toContain("model");
  expect(snippet("Python", REQUEST, OPTIONS)).toContain('model="starter"');
  for (const language of ["curl", "TypeScript", "Python"] as const) {
    expect(snippet(language, named, OPTIONS)).not.toContain("Second");
  }
});

it("gives curl exactly the body, whatever the text holds", () => {
  const code = snippet("curl", REQUEST, OPTIONS).replace(/^curl/, "printf '%s\\n'");
  const lines = execFileSync("sh", ["-c", code], { encoding: "utf8" });
  const start = lines.indexOf("{");
  const body = lines.slice(start, lines.lastIndexOf("}") + 1);
  expect(JSON.parse(body)).toEqual({ ...bodyOf(REQUEST), response_format: "wav" });
});

it("asks for a key where the server does", () => {
  const secured = { ...OPTIONS, needsKey: true };
  for (const language of ["curl", "TypeScript", "Python"] as const) {
    expect(snippet(language, REQUEST, secured)).toContain("SONANT_API_KEY");
    expect(snippet(language, REQUEST, OPTIONS)).not.toContain("SONANT_API_KEY");
  }
});

it("puts our own options where OpenAI's Python client takes them", () => {
  expect(snippet("Python", REQUEST, OPTIONS)).toContain(
    'extra_body={"seed": 7, "audio_temperature": 0.8, "text_normalization": "off"}',
  );
});
