/**
 * The one place that knows what the neutral names of the case files mean in this server: messages, metrics, log lines,
 * settings, and the limits that this server documents where a case only has a starting value.
 */
import type { Step, Wanted } from "./case-file.ts";

/** The path of the speech socket. */
export const SOCKET_PATH = "/v1/audio/speech/ws";

/** `session.config` of a case; some cases need more than the plain one. */
export function configMessage(id: string): Record<string, unknown> {
  const plain = {
    type: "session.config",
    protocol: 2,
    voice: "default",
    response_format: "pcm",
    stream_audio: true,
  };
  return { ...plain, ...SESSION_SETTINGS[id] };
}

const SESSION_SETTINGS: Readonly<Record<string, Wanted>> = {
  // Speech faster than it is heard would be over before a listener who hears a sentence can stop the one after it.
  B009: { max_lead_ms: 300 },
  // Nobody listens: the text of the units is what counts, and it should not come at the pace of speech.
  B136: { max_lead_ms: 600_000 },
};

/** The message of an operation on a socket, or undefined if the operation is not a message. */
export function messageFor(
  op: string,
  step: Step,
  id: string,
): Record<string, unknown> | undefined {
  switch (op) {
    case "config":
      return configMessage(id);
    case "text":
      return { type: "input.text", text: step.text };
    case "end":
      return { type: "input.done" };
    case "cancel":
      return { type: "input.cancel", scope: "utterance" };
    case "close":
      return { type: "session.close" };
    default:
      return undefined;
  }
}

/** Message types behind the neutral names of socket events. Audio is no message. */
export const EVENTS: Readonly<Record<string, readonly string[]>> = {
  started: ["audio.start"],
  cancelled: ["audio.cancelled"],
  done: ["session.done"],
  error: ["error", "utterance.error"],
};

/** Close codes that the server documents for what a case calls `@documented`. */
export const DOCUMENTED_CLOSE_CODES: Readonly<Record<string, readonly number[]>> = {
  B020: [4408],
};

/** A series of the metrics page: its name, and labels it has to have. */
export interface Series {
  readonly name: string;
  readonly labels?: Readonly<Record<string, readonly string[]>>;
}

const REQUESTS = "tts_requests_total";

export const SERIES = {
  active: { name: "tts_active_requests" },
  sockets: { name: "tts_ws_sessions" },
  "requests with outcome closed": { name: REQUESTS, labels: { outcome: ["closed"] } },
  truncated_total: { name: "tts_truncated_total" },
  ok: { name: REQUESTS, labels: { outcome: ["stop", "length"] } },
  cancelled: { name: REQUESTS, labels: { outcome: ["cancelled", "closed"] } },
  refused: { name: "tts_rejected_total" },
  rss: { name: "process_resident_memory_bytes" },
  descriptors: { name: "process_open_fds" },
  eventLoopLag: { name: "nodejs_eventloop_lag_p99_seconds" },
} as const satisfies Readonly<Record<string, Series>>;

export type SeriesName = keyof typeof SERIES;

/** What the server logs where a case asks for words of its own. */
export const LOG_WORDS: Readonly<Record<string, RegExp>> = {
  "set aside or skipped": /skipped|cannot be read|damaged/i,
  // What is missing for a GPU is said in a sentence, and not as a list of architectures.
  architecture: /cuda|nvidia|gpu/i,
};

/** What nobody may find in a log, by the neutral names of the cases. */
export const BAD_LOG_WORDS: Readonly<Record<string, RegExp>> = {
  uncaught: /uncaught|unhandled/i,
};

/** Settings (keys of the deploy file) that a case needs, since the server's own would make it last for minutes. */
export const SETTINGS: Readonly<Record<string, Wanted>> = {
  B020: { ws: { idle_timeout_s: 1.5 } },
  B023: { ws: { heartbeat_s: 0.5 } },
  // More clients than one address may be, and fewer than the case opens: both sides of the limit are seen.
  B025: { ws: { max_sessions_per_client: 1000, heartbeat_s: 60 } },
  B073: { stages: [{ stage_id: 0, max_num_seqs: 2, max_queue: 4 }] },
  // It ends its server.
  B118: {},
};

/** Times that the server documents, in milliseconds; the settings that it was started with go before its defaults. */
export function documentedMs(name: string, settings: Wanted = {}): number {
  const sockets = (settings.ws ?? {}) as Readonly<Record<string, number>>;
  const { idle_timeout_s: idle = 30, heartbeat_s: heartbeat = 15 } = sockets;
  const seconds: Readonly<Record<string, number>> = {
    idle_limit_ms: idle,
    heartbeat_ms: heartbeat,
  };
  const found = seconds[name];
  if (found === undefined) throw new Error(`The server documents no @${name}.`);
  return found * 1000;
}

/**
 * Expectations that the server's own documentation replaces, with the reason. They are put over those of the case,
 * member by member.
 */
export const OWN_EXPECTATIONS: Readonly<Record<string, { readonly why: string } & Wanted>> = {
  B074: {
    why: "five hundred callers of one instant are refused one after the other, at 1 to 3 ms each",
    timing: { refusal_ms: { p99_max: 2000 } },
  },
  B121: {
    why: "mp3 is encoded in the process: no program of the system is run, so a broken one breaks nothing",
    http: { "*": { status: [200] } },
  },
};

/** Expectations that cannot be seen from outside, and where they are proven. */
export const UNSEEN: Readonly<Record<string, string>> = {
  "network.outgoing_connections": "proven in server/voices/fetch-guard.test.ts",
  "audio.transcript_lacks": "words: recognition is left to npm run eval; lengths are checked",
  "audio.transcript_only_own_word": "each stream is compared with its own solo instead",
  transcript:
    "words reach the model: proven in server/speech/odd-text.int.test.ts and server/cli/understood.int.test.ts",
};

/** Words that an answer to a client may not have, where plain text search would find English in them. */
export const BAD_BODY_WORDS: Readonly<Record<string, RegExp>> = {
  // Frames of a stack: "that " and "at least" are fine.
  "at ": /(^|\n|\\n)\s*at \S/,
};
