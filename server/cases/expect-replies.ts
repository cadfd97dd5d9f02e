/** Expectations of HTTP replies: status, headers, documents, bytes and times. */
import { atMost, between, holds, oneOf, same, wrong } from "./check.ts";
import type { Checks } from "./expectation.ts";
import { evaluate, isExpression, quantile } from "./figures.ts";
import type { HttpReply } from "./http-client.ts";
import type { SeriesName } from "./mapping.ts";
import { BAD_BODY_WORDS } from "./mapping.ts";
import { MetricsPage } from "./metrics-page.ts";
import type { World } from "./world.ts";

interface StatusWanted {
  readonly status?: number | readonly number[] | string;
  readonly max_ms?: number;
  readonly json_error?: boolean;
  readonly never?: readonly number[];
}

interface Limit {
  readonly max?: number;
  readonly max_ms?: number;
  readonly p99_max?: number;
}

type Relation = Readonly<Record<string, number | boolean>>;

const text = ({ body }: HttpReply) => body.toString();

function title({ request, status }: HttpReply): string {
  const words = request.replaceAll(/-{4,}.*|content-disposition: form-data; |\r\n/g, " ");
  return `${words.replaceAll(/\s+/g, " ").slice(0, 120)}: status ${status}`;
}

/** Replies of a name, of a status, or all of them. */
function repliesOf(world: World, name: string): HttpReply[] {
  if (name === "*") return world.answered();
  return /^\d{3}$/.test(name)
    ? world.answered().filter(({ status }) => String(status) === name)
    : world.answered(name);
}

function checkStatus(world: World, name: string, wanted: StatusWanted): void {
  const replies = repliesOf(world, name);
  holds(replies.length > 0, `no reply ${name} was waited for`);
  for (const reply of replies) {
    const { status } = wanted;
    if (typeof status === "string") {
      const other = world.reply(status.replace("same as ", ""));
      same(`the status of ${name}`, reply.status, other.status);
    } else if (status !== undefined) {
      const shown = reply.status >= 400 ? `: ${text(reply).slice(0, 200)}` : "";
      oneOf(`${title(reply)}${shown}, and`, reply.status, [status].flat());
    }
    for (const never of wanted.never ?? []) holds(reply.status !== never, title(reply));
    if (wanted.json_error) checkError(reply);
    if (wanted.max_ms !== undefined) {
      atMost(`the time of ${title(reply)} in ms`, reply.totalMs, world.patient(wanted.max_ms));
    }
  }
}

function checkError(reply: HttpReply): void {
  const message = document(reply).error?.message;
  holds(typeof message === "string" && message !== "", `${title(reply)} has no error.message`);
}

// biome-ignore lint/suspicious/noExplicitAny: documents of a server are looked at before anything is known of them
function document(reply: HttpReply): any {
  try {
    return JSON.parse(text(reply));
  } catch {
    return wrong(`${title(reply)} is no JSON: ${text(reply).slice(0, 100)}`);
  }
}

function checkHeaders(world: World, name: string, wanted: Readonly<Record<string, string | null>>) {
  for (const reply of repliesOf(world, name)) {
    for (const [header, value] of Object.entries(wanted)) {
      const found = reply.headers[header];
      const what = `header ${header} of ${title(reply)}`;
      if (value === "present") holds(found !== undefined, `${what} is missing`);
      else same(what, found ?? null, value);
    }
  }
}

/** The shape of a value: its keys and kinds, without what is in it. */
function shape(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return typeof value;
  if (Array.isArray(value)) return value.map(shape);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}

/** Counters are moved a moment after the client has seen the end of its request. */
async function checkMoved(world: World, from: MetricsPage, wanted: Relation): Promise<void> {
  let moved: Relation = {};
  const isRight = async () => {
    const now = await world.target.metrics();
    const names = Object.keys(wanted) as SeriesName[];
    moved = Object.fromEntries(names.map((name) => [name, now.sum(name) - from.sum(name)]));
    return names.every((name) => moved[name] === wanted[name]);
  };
  await world.eventually(1000, isRight);
  same("what the counters moved by", moved, wanted);
}

async function checkBodyRelation(world: World, name: string, wanted: Relation & Limit) {
  if (isExpression(name)) {
    atMost(name, await evaluate(world, name), wanted.max ?? Number.POSITIVE_INFINITY);
    return;
  }
  if (name.includes("-")) {
    const [later = "", earlier = ""] = name.split("-");
    const page = (reply: string) => new MetricsPage(text(world.reply(reply)));
    same("histograms whose last bucket is not their count", page(later).uneven(), []);
    return checkMoved(world, page(earlier), wanted);
  }
  const reply = world.reply(name);
  if (wanted.no_negative_values) {
    same(`negative figures of ${name}`, new MetricsPage(text(reply)).negative(), []);
  } else if (typeof wanted.count_min === "number") {
    const voices = document(reply).uploaded_voices as readonly unknown[];
    holds(voices.length >= wanted.count_min, `${name} lists ${voices.length} uploads`);
  } else wrong(`nothing checks the body of ${name} for ${Object.keys(wanted)}`);
}

async function checkDurations(world: World, [least, most]: readonly [number, number]) {
  const list = await fetch(`${world.target.url}/v1/audio/voices`, {
    headers: world.target.headers,
  });
  const { uploaded_voices: uploads } = (await list.json()) as {
    uploaded_voices: { name: string; duration_s: number }[];
  };
  const replies = world.answered().filter(({ request, status }) => {
    return status === 200 && request.startsWith("POST /v1/audio/voices");
  });
  for (const reply of replies) {
    const { name } = document(reply).voice;
    const stored = uploads.find((upload) => upload.name === name);
    holds(stored !== undefined, `voice ${name} is not listed`);
    between(`duration_s of voice ${name}`, stored.duration_s, least, most);
  }
}

function checkBody(world: World, member: string, wanted: never): void | Promise<void> {
  if (member === "duration_s") return checkDurations(world, wanted);
  if (member === "health.device") {
    return holds(world.ended?.exit.code === 1, "the server neither refused to start nor says cpu");
  }
  if (member === "same_shape") {
    const [a = "", b = ""] = wanted as readonly string[];
    const [one, other] = [document(world.reply(a)), document(world.reply(b))];
    return same(`the shape of ${b}`, shape(other), shape(one));
  }
  if (member !== "lacks") return checkBodyRelation(world, member, wanted);
  for (const reply of world.answered().filter(({ status }) => status >= 400)) {
    for (const words of wanted as readonly string[]) {
      const pattern = BAD_BODY_WORDS[words];
      const isIn = pattern?.test(text(reply)) ?? text(reply).includes(words);
      holds(!isIn, () => `${title(reply)} contains "${words}": ${text(reply)}`);
    }
  }
}

async function checkTiming(world: World, member: string, wanted: Limit | number): Promise<void> {
  const times = world.answered().map(({ totalMs }) => totalMs);
  if (member === "max_over_median") {
    // A relation between times says nothing where other work comes and goes.
    if (world.options.patience > 1) return;
    return atMost(member, Math.max(...times) / quantile(times, 0.5), wanted as number);
  }
  const { max, max_ms: maxMs, p99_max: p99 } = wanted as Limit;
  if (member === "pong_ms") {
    const pongs = [...world.sockets.values()].flatMap(({ pongMs }) => pongMs);
    holds(pongs.length > 0, "no ping was answered");
    return atMost("the slowest pong in ms", Math.max(...pongs), world.patient(max ?? 0));
  }
  if (member === "event_loop_lag_ms") {
    const lag = (await world.target.metrics()).sum("eventLoopLag") * 1000;
    return atMost("the lag of the event loop in ms (p99)", lag, world.patient(p99 ?? 0));
  }
  if (member === "refusal_ms") {
    const refusals = world.answered().filter(({ status }) => status === 503 || status === 429);
    const ms = refusals.map(({ totalMs }) => totalMs);
    if (ms.length > 0) atMost("refusals in ms (p99)", quantile(ms, 0.99), world.patient(p99 ?? 0));
    return;
  }
  const figure = await evaluate(world, member);
  if (maxMs !== undefined) atMost(`${member} in ms`, figure, world.patient(maxMs));
  else atMost(member, figure, max ?? 0);
}

const BYTE_CHECKS = {
  count_RIFF: (world: World, wanted: number) => {
    for (const { body } of world.answered()) {
      same("the number of RIFF headers", body.toString("latin1").split("RIFF").length - 1, wanted);
    }
  },
  riff_size: (world: World) => {
    for (const { body } of world.answered())
      same("the RIFF size", body.readUInt32LE(4), body.length - 8);
  },
  data_size: (world: World) => {
    for (const { body } of world.answered())
      same("the data size", body.readUInt32LE(40), body.length - 44);
  },
  info_frames_max: (world: World, wanted: number) => {
    for (const { body } of world.answered()) {
      const frames = body.toString("latin1").match(/Xing|Info/g) ?? [];
      atMost("the number of Xing or Info frames", frames.length, wanted);
    }
  },
};

export const REPLY_CHECKS: Checks = {
  http: checkStatus,
  headers: checkHeaders,
  body: checkBody,
  timing: checkTiming,
  bytes: BYTE_CHECKS,
};
