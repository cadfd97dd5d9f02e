/**
 * The cases of speech-api-cases.json against a server that runs: which of them can be played there, and how names of the
 * file's test doubles are put for those of the server.
 */
import type { WireCase } from "../protocol/test-cases.ts";
import { type CaseAnswer, compareAnswers } from "./answer-checks.ts";
import type { Wanted } from "./case-file.ts";
import { Mismatch } from "./check.ts";
import { ClipServer } from "./clip-server.ts";
import type { CaseResult } from "./report.ts";
import { comparedWith, playHttp, wantedOf } from "./speech-api-http.ts";
import { Player, type Stage } from "./speech-api-socket.ts";
import { Target } from "./target.ts";
import type { RunOptions } from "./world.ts";

interface CaseOptions {
  readonly limits?: Readonly<Record<string, number>>;
  readonly ws?: Readonly<Record<string, number>>;
  readonly api_key?: string;
  readonly [other: string]: unknown;
}

/** Options of cases that are settings of a real server; all others are switches of test doubles. */
const SETTINGS: readonly string[] = ["limits", "ws", "api_key"];
/** Kinds of servers that a model of the MOSS family can be. */
const KINDS: readonly (string | null)[] = ["nano", "nano_x", null];
/** Voices of the test doubles; they speak with the server's default voice. */
const DOUBLES: readonly string[] = ["junhao", "vivian", "ryan"];
const LONGEST_CHUNK_MS = 2000;

/** Cases that cannot be played from outside, each with its reason. */
const INSIDE_ONLY: Readonly<Record<string, string>> = {
  ws_stream_pcm: "the shipped model says its text in one chunk",
  ws2_stalled_reader_closed:
    "the system's own buffers between two programs take more than it sends",
};

/** Why a case cannot be played against a server; undefined if it can. */
function obstacle(wireCase: WireCase, target: Target): string | undefined {
  const { name, method, profile, server } = wireCase;
  const options = Object.keys((wireCase.options ?? {}) as CaseOptions);
  if (profile === "strict") return "this server has no strict profile";
  if (method === "UNIT") return "a pure function, tested by npm test -- --only unit";
  const double = options.find((option) => !SETTINGS.includes(option));
  if (double !== undefined) return `it needs a test double with the option ${double}: npm test`;
  if (method !== "WS" && !KINDS.includes(server)) {
    return `it needs a server of the kind ${server}, another family of models: npm test`;
  }
  if (INSIDE_ONLY[name] !== undefined) return `${INSIDE_ONLY[name]}: npm test`;
  const needsSettings = options.length > 0 && target.process === undefined;
  return needsSettings ? "it needs settings of its own: leave out --url" : undefined;
}

/** The settings of a case as keys of the deploy file. */
function settingsOf({ limits = {}, ws = {} }: CaseOptions): Wanted {
  const messages = Object.entries(limits).filter(([key]) => key.startsWith("ws_"));
  const others = Object.entries(limits).filter(([key]) => !key.startsWith("ws_"));
  const sockets = messages.map(([key, value]) => [key.slice("ws_".length), value]);
  return { limits: Object.fromEntries(others), ws: { ...ws, ...Object.fromEntries(sockets) } };
}

/** The case with voices and the model of this server in it. */
function withOwnNames(wireCase: WireCase, { voices, model }: Target): WireCase {
  const [voice = ""] = voices;
  const replace = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (DOUBLES.includes(value.toLowerCase())) return voice;
      // Bodies that are no JSON objects are texts with the names inside.
      const text = value.replaceAll("{{fixture:served_model}}", model);
      return DOUBLES.reduce((all, name) => all.replaceAll(`"${name}"`, `"${voice}"`), text);
    }
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replace(inner)]));
  };
  const { body, raw_body, expect } = wireCase;
  const replaced = Object.entries({ body, raw_body, expect }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...wireCase,
    ...Object.fromEntries(replaced.map(([key, value]) => [key, replace(value)])),
  };
}

/** The speech socket of a server, seen from outside. */
function stageOf(target: Target): Stage {
  const [first = "", second = first] = target.voices;
  return {
    url: target.socketUrl(""),
    headers: target.headers,
    sampleRate: target.sampleRate,
    chunkMs: LONGEST_CHUNK_MS,
    voices: { vivian: first, ryan: first, junhao: second },
    aborts: async () => (await target.metrics()).sum("cancelled"),
    isIdle: async () => (await target.metrics()).sum("active") === 0,
    metric: async (name) => (await target.metrics()).total(name),
  };
}

/** Plays cases, and keeps answers that others are compared with. */
export class SpeechApi {
  readonly #answers = new Map<string, CaseAnswer>();

  constructor(private readonly cases: readonly WireCase[]) {}

  /** Plays one case against a server, or against one of our own with the settings that the case needs. */
  async run(wireCase: WireCase, shared: Target, options: RunOptions): Promise<CaseResult> {
    const { name } = wireCase;
    const from = performance.now();
    const result = (status: CaseResult["status"], problems: string[], notes: string[] = []) => {
      const ms = Math.round(performance.now() - from);
      return { id: name, name, area: areaOf(wireCase), status, problems, notes, ms };
    };
    const reason = obstacle(wireCase, shared);
    if (reason !== undefined) return result("not run", [], [reason]);
    options.signal.throwIfAborted();
    try {
      await this.#inHouse(wireCase, shared);
      options.signal.throwIfAborted();
      return result("passed", []);
    } catch (error) {
      options.signal.throwIfAborted();
      const { message, stack = message } = error as Error;
      return result("failed", [error instanceof Mismatch ? message : stack]);
    }
  }

  async #inHouse(wireCase: WireCase, shared: Target): Promise<void> {
    const options = (wireCase.options ?? {}) as CaseOptions;
    if (Object.keys(options).length === 0) return this.#play(wireCase, shared);
    const environment = options.api_key === undefined ? {} : { SONANT_API_KEY: options.api_key };
    const own = await Target.own({ settings: settingsOf(options), environment }, options.api_key);
    try {
      await this.#play(wireCase, own);
    } finally {
      await own.close();
    }
  }

  async #play(wireCase: WireCase, target: Target): Promise<void> {
    if (wireCase.method === "WS") return new Player(stageOf(target), wireCase.path).play(wireCase);
    const answer = await this.#answer(wireCase, target);
    const other = comparedWith(wireCase, this.cases);
    if (other === undefined || obstacle(other, target) !== undefined) return;
    await compareAnswers(answer, await this.#answer(other, target), wantedOf(wireCase));
  }

  async #answer(wireCase: WireCase, target: Target): Promise<CaseAnswer> {
    const known = this.#answers.get(wireCase.name);
    if (known !== undefined) return known;
    const clips = await ClipServer.start();
    const before = await target.uploads();
    try {
      // Cases about keys say themselves which one they send.
      const headers = wireCase.options === undefined ? target.headers : {};
      const door = { url: target.url, clips, headers };
      const answer = await playHttp(door, withOwnNames(wireCase, target));
      this.#answers.set(wireCase.name, answer);
      return answer;
    } finally {
      clips.close();
      for (const name of await target.uploads()) {
        if (!before.includes(name)) await target.deleteUpload(name);
      }
    }
  }
}

/** The first word of a case's name. */
export function areaOf({ name }: WireCase): string {
  return name.split("_", 1)[0] ?? name;
}
