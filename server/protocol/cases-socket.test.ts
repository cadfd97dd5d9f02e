/** The socket cases whose complaints follow from single messages, driven from the shared file. */
import { describe, expect, it } from "vitest";
import { toJson } from "./json.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { parseClientMessage } from "./socket-parse.ts";
import { ServerMessage } from "./socket-server.ts";
import { CASES, filled, type WireCase } from "./test-cases.ts";

/** Cases in which every expected `error` is a complaint about one message. */
const COMPLAINTS = [
  "ws_unknown_type_is_not_fatal",
  "ws_invalid_json_later_is_not_fatal",
  "ws_array_message_is_not_fatal",
  "ws_text_not_a_string",
  "ws_text_too_large",
  "ws_config_too_large",
  "ws_first_frame_bad_json",
  "ws_first_frame_wrong_type",
  "ws_stream_needs_pcm",
  "ws_config_bad_granularity",
];

const sockets = CASES.filter(({ method }) => method === "WS");

interface Step {
  readonly send?: unknown;
  readonly send_raw?: string;
  readonly expect?: { type?: string; message?: string };
  readonly contains?: readonly string[];
  readonly expect_close?: object;
  readonly reconnect?: boolean;
}

/** Plays the client's side of a case and collects the errors with the steps that expect one. */
function play(wireCase: WireCase) {
  const limits: Limits = { ...LIMITS, ...wireCase.options?.limits };
  let configured = false;
  let dialect: 1 | 2 = 1;
  const errors: { message: string; fatal?: boolean | undefined }[] = [];
  const expected: Step[] = [];
  for (const step of wireCase.frames as readonly Step[]) {
    if (step.expect?.type === "error") expected.push(step);
    if (step.reconnect) configured = false;
    if (step.send === undefined && step.send_raw === undefined) continue;
    const text = step.send_raw ?? toJson(filled(step.send));
    const parsed = parseClientMessage(text, { configured, dialect }, limits);
    if (!parsed.ok) errors.push(parsed.error);
    else if (parsed.message.type === "session.config") {
      configured = true;
      dialect = parsed.message.protocol === 2 ? 2 : 1;
    }
  }
  return { errors, expected };
}

describe("complaints of the cases", () => {
  const complaints = sockets.filter(({ name }) => COMPLAINTS.includes(name));

  it("are all in the file", () => expect(complaints).toHaveLength(COMPLAINTS.length));

  it.each(complaints.map((wireCase) => [wireCase.name, wireCase] as const))("%s", (_, wireCase) => {
    const { errors, expected } = play(wireCase);
    expect(errors).toHaveLength(expected.length);
    for (const [index, error] of errors.entries()) {
      const wanted = expected[index];
      if (wanted?.expect?.message !== undefined) expect(error.message).toBe(wanted.expect.message);
      for (const text of wanted?.contains ?? []) expect(error.message).toContain(text);
    }
    const closes = wireCase.frames?.some((step) => "expect_close" in step) ?? false;
    expect(errors.at(-1)?.fatal).toBe(closes);
  });
});

describe("messages of all other cases", () => {
  const others = sockets.filter(({ name }) => !COMPLAINTS.includes(name));

  it.each(others.map((wireCase) => [wireCase.name, wireCase] as const))("%s", (_, wireCase) => {
    expect(play(wireCase).errors).toEqual([]);
  });

  it("expect server messages that have the documented shape", () => {
    const types = new Set<string>(ServerMessage.options.map(({ shape }) => shape.type.value));
    for (const { frames = [] } of sockets) {
      for (const step of frames as readonly Step[]) {
        if (step.expect?.type === undefined) continue;
        expect(types).toContain(step.expect.type);
        const option = ServerMessage.options.find(
          ({ shape }) => shape.type.value === step.expect?.type,
        );
        expect(Object.keys(option?.shape ?? {})).toEqual(
          expect.arrayContaining(Object.keys(step.expect)),
        );
      }
    }
  });
});
