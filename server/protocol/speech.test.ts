import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { batchFailure, batchResponse, batchSuccess } from "./batch.ts";
import { modelList } from "./documents.ts";
import { validate } from "./envelope.ts";
import { carriedRate, chooseDelivery, defaultFormat } from "./formats.ts";
import { audioHeaders, EXPOSED_HEADERS } from "./headers.ts";
import { LIMITS } from "./limits.ts";
import { referenceForm } from "./reference-form.ts";
import { ignoredFields, SpeechBody, SpeechRequest } from "./speech.ts";
import { samplerOf } from "./speech-fields.ts";
import { failureEvent, formatEvent } from "./sse.ts";
import { usageHeaders, usageOf } from "./usage.ts";
import { VoicePromptRequest } from "./voice-prompts.ts";
import { type UploadedVoice, voiceCatalogue, voiceCreated, voiceDeleted } from "./voices.ts";

const parse = (body: object) => validate(SpeechRequest, { input: "Hi", ...body });

describe("speech requests", () => {
  it("come out in plain spelling", () => {
    expect(parse({ voice: { id: "ada" }, speaker: "bob", speed: null, stream: "yes" })).toEqual({
      input: "Hi",
      voice: "ada",
      stream: true,
    });
    expect(parse({ references: [{ audio_path: "data:,x", text: "hello" }] })).toEqual({
      input: "Hi",
      ref_audio: "data:,x",
      ref_text: "hello",
    });
  });

  it("refuse references that contradict the plain fields", () => {
    const references = [{ audio_path: "a", text: "t" }];
    expect(() => parse({ references, ref_audio: "b" })).toThrow(/mutually exclusive.*conflict/);
    expect(() => parse({ references, ref_text: "u" })).toThrow(/conflict/);
    expect(parse({ references, ref_audio: "a" }).ref_audio).toBe("a");
    expect(() => parse({ references: "a" })).toThrow("non-empty array");
  });

  it("check embeddings of both shapes", () => {
    expect(parse({ speaker_embedding: [[0.1], [0.2]] }).speaker_embedding).toEqual([[0.1], [0.2]]);
    expect(() => parse({ speaker_embedding: [[]] })).toThrow("non-empty");
    expect(() => parse({ speaker_embedding: [[1], 2] })).toThrow("numeric");
    expect(() => parse({ speaker_embedding: [Number.POSITIVE_INFINITY] })).toThrow("finite");
  });

  it("name the fields that nobody reads", () => {
    const body = { input: "x", user: "u", voice: "v", toString: 1 };
    expect(ignoredFields(SpeechBody, body)).toEqual(["user", "toString"]);
    expect(ignoredFields(SpeechBody, null)).toEqual([]);
  });

  it("take sampling options from two places", () => {
    const request = parse({ top_k: 5, extra_params: { top_k: 9, audio_top_p: "0.5", other: [1] } });
    expect(samplerOf(request)).toEqual({ top_k: 5, audio_top_p: 0.5 });
    expect(() => parse({ extra_params: { top_p: 2 } })).toThrow("'extra_params', 'top_p'");
  });

  it("have a type that a client can write", () => {
    const body: z.input<typeof SpeechBody> = { input: "Hi", speed: 1.5, seed: 7, voice: null };
    expect(validate(SpeechRequest, body).seed).toBe(7n);
  });
});

describe("formats", () => {
  it("default to what the clients of a model name are used to", () => {
    const aliases = ["tts-1", "gpt-4o-mini-tts"];
    expect(defaultFormat("tts-1", aliases)).toBe("mp3");
    expect(defaultFormat("gpt-4o-mini-tts-2025-12-15", aliases)).toBe("mp3");
    expect(defaultFormat("starter", aliases)).toBe("wav");
    expect(defaultFormat(undefined, aliases)).toBe("wav");
  });

  it("are delivered as the request says, then as it accepts, then as the server prefers", () => {
    expect(chooseDelivery({}, undefined, "audio")).toBe("whole");
    expect(chooseDelivery({ stream: true }, "*/*", "audio")).toBe("audio");
    expect(chooseDelivery({ stream: true }, undefined, "sse")).toBe("sse");
    expect(chooseDelivery({ stream: true }, "text/event-stream", "audio")).toBe("sse");
    expect(chooseDelivery({ stream_format: "audio" }, "text/event-stream", "sse")).toBe("audio");
    expect(carriedRate("opus", 44100)).toBe(48000);
    expect(carriedRate("wav", 44100)).toBe(44100);
  });
});

describe("responses", () => {
  it("publish rate, channels, seed and fields that were ignored", () => {
    const audio = { requestId: "speech-1", sampleRate: 48000, channels: 2, seed: -1n };
    const headers = audioHeaders({ ...audio, delivery: "audio", ignoredFields: ["a\r\nb", "c"] });
    expect(headers).toMatchObject({
      "X-Sample-Rate": "48000",
      "X-Audio-Sample-Rate": "48000",
      "X-Channels": "2",
      "X-Bit-Depth": "16",
      "X-Seed": "-1",
      "X-Stream-Format": "audio",
      "X-Ignored-Fields": "a??b, c",
      "Cache-Control": "no-store",
    });
    const plain = audioHeaders({ ...audio, delivery: "whole", ignoredFields: [] });
    expect(plain).not.toHaveProperty("X-Ignored-Fields");
    expect(EXPOSED_HEADERS).toContain("X-Seed");
  });

  it("add usage up", () => {
    const usage = usageOf(18, 101, 77);
    expect(usage).toMatchObject({ input_tokens: 119, total_tokens: 196 });
    expect(usageHeaders(usage)["X-Vllm-Omni-Total-Tokens"]).toBe("196");
  });

  it("write one event as two lines and a blank one", () => {
    const text = formatEvent(failureEvent("boom", 500));
    expect(text).toBe(
      'event: speech.audio.error\ndata: {"type":"speech.audio.error","error":{"message":"boom",' +
        '"type":"server_error","param":null,"code":500}}\n\n',
    );
  });

  it("keep the order of a batch", () => {
    const usage = usageOf(1, 0, 2);
    const audio = { audioBase64: "AA==", mediaType: "audio/wav", sampleRate: 48000, channels: 1 };
    const good = batchSuccess(0, { ...audio, usage, seconds: 0.16, seed: 7n });
    const body = batchResponse("speech-batch-1", [
      batchFailure(1, "Input text cannot be empty"),
      good,
    ]);
    expect(body.results.map(({ index }) => index)).toEqual([0, 1]);
    expect(body).toMatchObject({ total: 2, succeeded: 1, failed: 1 });
    expect(body.results[1]).toMatchObject({ audio_data: null, media_type: null, usage: null });
  });

  it("list models under all their names", () => {
    const facts = { state: "ready", main: "starter", is_default: true, device: "cpu" } as const;
    const { data } = modelList(
      [
        { names: ["starter", "s"], aliases: ["tts-1", "starter"], facts },
        { names: ["nano"], aliases: ["tts-1-hd"], facts: { ...facts, is_default: false } },
      ],
      1,
    );
    expect(data.map(({ id, root, sonant }) => [id, root, sonant.is_default])).toEqual([
      ["starter", "starter", true],
      ["s", "s", true],
      ["nano", "nano", false],
      ["tts-1", "starter", true],
      ["tts-1-hd", "nano", false],
    ]);
  });
});

describe("voices", () => {
  const uploaded: UploadedVoice = {
    name: "Ådne",
    consent: "c",
    created_at: 5,
    file_size: 10,
    mime_type: "audio/wav",
    embedding_source: "audio",
    embedding_dim: null,
    id: "v1",
  };

  it("are listed once, in lower case and sorted", () => {
    const preset = { display_name: "Zoe", description: "", language: "en", default: true };
    const { voices } = voiceCatalogue([{ name: "zoe", ...preset }], [uploaded]);
    expect(voices).toEqual(["zoe", "ådne"]);
  });

  it("answer uploads and deletions", () => {
    expect(voiceCreated(uploaded)).toEqual({
      success: true,
      voice: { name: "Ådne", consent: "c", created_at: 5, mime_type: "audio/wav", file_size: 10 },
      id: "v1",
      object: "audio.voice",
      name: "Ådne",
      created_at: 5,
    });
    const direct = voiceCreated({ ...uploaded, embedding_source: "direct", embedding_dim: 3 });
    expect(direct.voice).toMatchObject({ embedding_source: "direct", embedding_dim: 3 });
    expect(voiceDeleted("x", false)).toEqual({
      status: 404,
      body: { success: false, error: "Voice 'x' not found" },
    });
  });

  it("can be made from a reference under either name", () => {
    expect(validate(VoicePromptRequest, { audio_sample: "a" })).toEqual({ ref_audio: "a" });
    expect(() => validate(VoicePromptRequest, {})).toThrow("is required");
    expect(() => validate(VoicePromptRequest, { ref_audio: "a", audio_sample: "b" })).toThrow(
      "mutually exclusive",
    );
  });
});

describe("references", () => {
  const form = (text: string, fileReferences = false) =>
    referenceForm(text, { fileReferences }, LIMITS);

  it("are told apart by their text", () => {
    expect(form("HTTPS://a.example/x.wav").kind).toBe("url");
    expect(form("file:///a.wav", true).kind).toBe("file");
    expect(form("vp_abc").kind).toBe("prompt");
    expect(form("data:audio/wav;codecs=1;base64,UklG\nRg")).toEqual({
      kind: "base64",
      base64: "UklGRg==",
    });
    expect(form(btoa("OggS000000000000")).kind).toBe("base64");
  });

  it("are refused when they are nothing known", () => {
    for (const text of ["", "x", "abcd", "ftp://a/b.wav", btoa("not audio at all")]) {
      expect(() => form(text)).toThrow("ref_audio must be a URL");
    }
    expect(() => form("data:audio/wav;base64,a*b=")).toThrow("base64 is broken");
    expect(() => form(`data:;base64,${"A".repeat(16_000_000)}`)).toThrow("at most 10 MiB");
  });
});
