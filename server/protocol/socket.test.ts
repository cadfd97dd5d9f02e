/** Details of the socket protocol that the shared cases leave open. */
import { describe, expect, it } from "vitest";
import { closeCode } from "./error-registry.ts";
import { LIMITS } from "./limits.ts";
import { PAGE_EVENTS } from "./playground.ts";
import { CLIENT_MESSAGES, DIALECT_2_ONLY, SessionConfig } from "./socket-client.ts";
import { parseClientMessage, type SocketState } from "./socket-parse.ts";
import { generationError, ServerMessage, socketError } from "./socket-server.ts";
import { decodeTagged, encodeTagged, TAG_BYTES } from "./tagged-frame.ts";

const FRESH: SocketState = { configured: false, dialect: 1 };
const FIRST: SocketState = { configured: true, dialect: 1 };
const SECOND: SocketState = { configured: true, dialect: 2 };

function complaint(value: unknown, state: SocketState) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const parsed = parseClientMessage(text, state, LIMITS);
  return parsed.ok ? undefined : parsed.error;
}

describe("parseClientMessage", () => {
  it("uses the words of the protocol", () => {
    expect(complaint("[]", FRESH)?.message).toBe("session.config must be a JSON object");
    expect(complaint("null", SECOND)?.message).toBe("WebSocket messages must be JSON objects");
    expect(complaint("{", FRESH)?.message).toBe("Invalid JSON in session.config");
    expect(complaint("{", FIRST)?.message).toBe("Invalid JSON message");
    expect(complaint({ type: 5 }, FIRST)?.message).toBe("Unknown message type: 5");
    expect(complaint({}, FIRST)?.message).toBe("Unknown message type: none");
    expect(complaint({ type: "toString" }, FIRST)?.message).toBe("Unknown message type: toString");
    expect(complaint({ type: "input.done" }, FRESH)?.message).toBe(
      "Expected session.config, got: input.done",
    );
  });

  it("ends the connection only before it is configured", () => {
    expect(complaint("{", FRESH)?.fatal).toBe(true);
    expect(complaint("{", SECOND)?.fatal).toBe(false);
  });

  it("knows the messages of dialect 2 only in dialect 2", () => {
    for (const type of DIALECT_2_ONLY) {
      expect(complaint({ type }, FIRST)?.message).toBe(`Unknown message type: ${type}`);
    }
    expect(complaint({ type: "input.flush" }, SECOND)).toBeUndefined();
    expect(complaint({ type: "session.close" }, FIRST)).toBeUndefined();
    const resume = { type: "session.resume", session_id: "a", resume_token: "b", last_seq: -1 };
    expect(complaint(resume, FRESH)).toBeUndefined();
    expect(complaint(resume, SECOND)?.message).toBe("Unknown message type: session.resume");
  });

  it("names the field of other messages that is wrong", () => {
    const error = complaint({ type: "input.cancel", scope: "some" }, SECOND);
    expect(error).toMatchObject({ code: "invalid_message", param: "scope", fatal: false });
    expect(error?.message).toContain("'current', 'utterance' or 'all'");
  });

  it("measures text in code points", () => {
    const text = (length: number) => ({ type: "input.text", text: "😀".repeat(length) });
    expect(complaint(text(LIMITS.ws_text_message_chars - 40), SECOND)).toBeUndefined();
    const error = complaint(text(LIMITS.ws_text_message_chars), SECOND);
    expect(error?.message).toBe("input.text message too large");
  });
});

describe("session.config", () => {
  const parse = (value: object) => SessionConfig.parse({ type: "session.config", ...value });

  it("resolves aliases and keeps large seeds exact", () => {
    expect(parse({ speaker: "Vivian", speed: "1.5", seed: "9007199254740993" })).toEqual({
      type: "session.config",
      voice: "Vivian",
      speed: 1.5,
      seed: 9007199254740993n,
    });
    expect(parse({ voice: { id: "a" }, speaker: "b", protocol: 2, channels: null })).toEqual({
      type: "session.config",
      voice: "a",
      protocol: 2,
    });
  });

  it("has limits", () => {
    expect(() => parse({ idle_timeout_s: 4 })).toThrow();
    expect(() => parse({ protocol: 3 })).toThrow();
  });
});

describe("server messages", () => {
  it("name the failed unit, and what to do with audio that was sent", () => {
    const error = generationError({ utterance: 1, sentence: 2 }, "boom", true);
    expect(error.message).toBe("Generation failed for utterance 1, sentence 2: boom");
    expect(error).toMatchObject({ partial_audio: true, action: "discard", fatal: false });
    expect(ServerMessage.parse(error)).toEqual(error);
    expect(generationError({ utterance: 0, sentence: 0 }, "x", false)).not.toHaveProperty("action");
  });

  it("come with the close code of their failure", () => {
    expect(socketError("idle_timeout", undefined, { fatal: true }).message).toBe(
      "Idle timeout: no message received",
    );
    expect(closeCode("idle_timeout", 2)).toBe(4408);
    expect(closeCode("idle_timeout", 1)).toBe(1000);
    expect(closeCode("shutting_down", 1)).toBe(1001);
    expect(closeCode("binary_message", 2)).toBe(1003);
    expect(closeCode("model_not_found", 2)).toBe(4404);
  });

  it("each have a type of their own", () => {
    expect(Object.keys(CLIENT_MESSAGES)).toHaveLength(new Set(Object.keys(CLIENT_MESSAGES)).size);
    for (const [type, schema] of Object.entries(CLIENT_MESSAGES)) {
      const text = "in" in schema ? schema.in.shape.type.value : schema.shape.type.value;
      expect(text).toBe(type);
    }
  });
});

describe("tagged frames", () => {
  const tag = {
    utterance: 1,
    sentence: 2,
    generation: 3,
    seq: 0xfffffffe,
    first: true,
    last: false,
    replayed: true,
  };

  it("have the documented bytes", () => {
    const message = encodeTagged({ ...tag, seq: 4 }, Uint8Array.of(0xaa, 0xbb));
    const hex = [...message].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    expect(hex).toBe(
      "5650413101050000" + "01000000" + "02000000" + "03000000" + "04000000" + "aabb",
    );
  });

  it("come back as they were, from the middle of a buffer too", () => {
    const message = encodeTagged(tag, Uint8Array.of(1, 2, 3));
    const shifted = new Uint8Array(message.length + 3);
    shifted.set(message, 3);
    expect(decodeTagged(shifted.subarray(3))).toEqual({ tag, payload: Uint8Array.of(1, 2, 3) });
  });

  it("are told from anything else", () => {
    expect(decodeTagged(new Uint8Array(TAG_BYTES))).toBeUndefined();
    expect(decodeTagged(new Uint8Array(3))).toBeUndefined();
    const future = encodeTagged(tag, new Uint8Array());
    future[4] = 2;
    expect(decodeTagged(future)).toBeUndefined();
  });
});

describe("playground events", () => {
  it("take the options of every other door", () => {
    expect(PAGE_EVENTS.open.parse({ session: "s1", speaker: "clara", speed: "2" })).toEqual({
      session: "s1",
      voice: "clara",
      speed: 2,
    });
    expect(PAGE_EVENTS.cancel.parse({ session: "s1" }).scope).toBe("all");
    expect(PAGE_EVENTS.text.safeParse({ session: "", text: "x" }).success).toBe(false);
  });
});
