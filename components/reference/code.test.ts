import { describe, expect, it } from "vitest";
import { codeFor, curlForRoute, TRANSPORTS } from "./code.ts";
import type { Operation } from "./operations.ts";

const VOICE: Operation = {
  id: "getVoice",
  method: "GET",
  path: "/v1/audio/voices/{name}",
  tag: "Voices",
  summary: "One voice",
  description: "",
  parameters: [],
  bodies: [],
  answers: [],
  isSocket: false,
};

describe("code", () => {
  const options = { origin: "https://voice.example", model: "starter", needsKey: false };
  const wish = { input: "Hi.", voice: "clara", format: "pcm", seed: undefined };

  it("names a key where one is needed, and only there", () => {
    for (const transport of TRANSPORTS) {
      for (const language of ["curl", "TypeScript", "Python"] as const) {
        const text = (needsKey: boolean) =>
          codeFor(language, { ...wish, transport }, { ...options, needsKey });
        expect(text(true), `${language} ${transport}`).toContain("SONANT_API_KEY");
        expect(text(false), `${language} ${transport}`).not.toContain("SONANT_API_KEY");
      }
    }
  });

  it("speaks to the page's own origin, encrypted where the page is", () => {
    const text = codeFor("TypeScript", { ...wish, transport: "socket" }, options);
    expect(text).toContain("wss://voice.example/v1/audio/speech/ws");
  });

  it("fills in paths, and names what a call does beside GET and POST", () => {
    const values = { voice: "Zoë", model: "starter" };
    const call = (change: Partial<Operation>) =>
      curlForRoute({ ...VOICE, ...change }, options, values);
    expect(call({})).toContain("https://voice.example/v1/audio/voices/Zo%C3%AB");
    expect(call({ method: "DELETE" })).toContain("-X DELETE");
    expect(call({ isSocket: true })).toBeUndefined();
    const body = { contentType: "application/json", name: "Body", fields: [], example: undefined };
    expect(call({ method: "POST", bodies: [body] })).toBeUndefined();
    const example = { text: "it's" };
    expect(call({ method: "POST", bodies: [{ ...body, example }] })).toContain(
      String.raw`-d '{"text":"it'\''s"}'`,
    );
  });
});
