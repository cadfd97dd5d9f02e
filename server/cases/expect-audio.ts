/** Expectations of sound: how long it is, what it equals, how loud it is. */
import { mpegFrame } from "../audio/sniff.ts";
import type { Wanted } from "./case-file.ts";
import { atLeast, atMost, between, holds, same, wrong } from "./check.ts";
import type { Checks } from "./expectation.ts";
import { evaluate, isExpression } from "./figures.ts";
import type { HttpReply } from "./http-client.ts";
import {
  isSilent,
  levels,
  mean,
  pauses,
  peak,
  type Sound,
  sampleBytes,
  soundOfReply,
  soundOfSocket,
} from "./sound.ts";
import type { World } from "./world.ts";

const LONG_WINDOW_MS = 10_000;
const PAUSE_MS = 150;
/** Speech has about that many characters a second; a piece may be much shorter or longer. */
const CHARS_PER_SECOND = 15;

interface Heard {
  readonly name: string;
  readonly sound: Sound;
  readonly reply?: HttpReply;
}

/** All that was heard: of every socket and of every reply that is sound, or of the one that `of` names. */
async function heard(world: World, section: Wanted = {}): Promise<Heard[]> {
  const only = section.of;
  const sockets = [...world.sockets].filter(([name]) => name === (only ?? name));
  const list: Heard[] = sockets.map(([name, socket]) => ({ name, sound: soundOfSocket(socket) }));
  if (sockets.length > 0) return list;
  for (const [name, replies] of world.replies) {
    for (const reply of replies) {
      const isSound = String(reply.headers["content-type"]).startsWith("audio/");
      if (reply.status !== 200 || reply.hasLeft || !isSound) continue;
      list.push({
        name: `${name} (${inputOf(reply).slice(0, 40)})`,
        sound: await soundOfReply(reply),
        reply,
      });
    }
  }
  return list;
}

function inputOf({ request }: HttpReply): string {
  const [, body = ""] = /^POST \S+ (.*)$/s.exec(request) ?? [];
  try {
    return String(JSON.parse(body).input ?? "");
  } catch {
    return "";
  }
}

async function eachHeard(
  world: World,
  section: Wanted,
  check: (one: Heard) => void,
): Promise<void> {
  for (const one of await heard(world, section)) check(one);
}

function samePairs(pairs: readonly unknown[]): (readonly [string, string])[] {
  return (Array.isArray(pairs[0]) ? pairs : [pairs]) as [string, string][];
}

function checkSame(world: World, wanted: readonly unknown[]): void {
  for (const [a, b] of samePairs(wanted)) {
    const [one, other] = [world.reply(a), world.reply(b)];
    holds(
      one.body.length > 0 && sampleBytes(one).equals(sampleBytes(other)),
      `${a} and ${b} differ`,
    );
  }
}

function checkDiffer(world: World, wanted: readonly unknown[]): void {
  for (const [a, b] of samePairs(wanted)) {
    const isSame = sampleBytes(world.reply(a)).equals(sampleBytes(world.reply(b)));
    holds(!isSame, `${a} and ${b} are the same`);
  }
}

/** "solo$k" and "busy$k" stand for all replies of such names. */
function checkPairs(world: World, [a, b]: readonly [string, string]): void {
  const prefix = a.replace("$k", "");
  const names = [...world.replies.keys()].filter((name) => name.startsWith(prefix));
  holds(names.length > 0, `no reply is named ${a}`);
  for (const name of names) checkSame(world, [name, b.replace("$k", name.slice(prefix.length))]);
}

/** Replies to the same request with a seed are the same, whoever was served beside them. */
function checkEqualRequests(world: World): void {
  const first = new Map<string, HttpReply>();
  for (const reply of world.answered()) {
    const other = first.get(reply.request) ?? reply;
    first.set(reply.request, other);
    holds(other.body.equals(reply.body), `two replies differ: ${reply.request}`);
  }
  const bodies = [...first.values()].map(({ body }) => body);
  for (const [i, body] of bodies.entries()) {
    holds(!bodies.slice(0, i).some((other) => other.equals(body)), "two voices sound the same");
  }
}

async function checkDurationsAgree(world: World, withinMs: number): Promise<void> {
  const seconds = (await heard(world)).map(({ sound }) => sound.seconds);
  holds(seconds.length > 1, "there are no two lengths to compare");
  const spread = (Math.max(...seconds) - Math.min(...seconds)) * 1000;
  atMost("the difference between the lengths in ms", spread, withinMs);
}

/** What a player works out from the frames of an mp3 is what is decoded. */
async function checkMp3Length(world: World): Promise<void> {
  for (const { name, sound, reply } of await heard(world)) {
    const body = reply?.body ?? Buffer.alloc(0);
    let frames = 0;
    for (let at = 0; at < body.length; frames += 1) at += mpegFrame(body, at)?.bytes ?? body.length;
    const counted = (frames * 1152) / sound.sampleRate;
    between(
      `the length of ${name} by its frames`,
      counted,
      sound.seconds * 0.98,
      sound.seconds * 1.02 + 0.05,
    );
  }
}

async function checkPerCharacter(world: World, [least, most]: readonly [number, number]) {
  for (const { name, sound, reply } of await heard(world)) {
    const characters = reply === undefined ? 0 : inputOf(reply).length;
    between(`seconds for a character of ${name}`, sound.seconds / characters, least, most);
  }
}

async function checkWindows(world: World, maxDropDb: number): Promise<void> {
  await eachHeard(world, {}, ({ name, sound }) => {
    const [first = 0, ...rest] = levels(
      sound,
      Math.min(LONG_WINDOW_MS, (sound.seconds * 1000) / 3),
    );
    for (const level of rest) {
      atMost(`the drop of level in ${name} in dB`, 20 * Math.log10(first / level), maxDropDb);
    }
  });
}

/** Sound of a length that fits its text, for whatever was not refused. */
async function checkSpoken(world: World): Promise<void> {
  await eachHeard(world, {}, ({ name, sound, reply }) => {
    holds(!isSilent(sound), `${name} is silent`);
    const words = reply === undefined ? [] : inputOf(reply).match(/[a-z]+ /g);
    // A length can be told from words alone; letters without an end and foreign signs have none.
    if (words === null || words.length < 20 || reply === undefined) return;
    const expected = inputOf(reply).length / CHARS_PER_SECOND;
    between(`the length of ${name}`, sound.seconds, 0.4 * expected, 1.8 * expected);
  });
}

const CHECKS = {
  min_s: (world: World, least: number, section: Wanted) =>
    eachHeard(world, section, ({ name, sound }) =>
      atLeast(`the length of ${name}`, sound.seconds, least),
    ),
  max_s: (world: World, most: number, section: Wanted) =>
    eachHeard(world, section, ({ name, sound }) =>
      atMost(`the length of ${name}`, sound.seconds, most),
    ),
  not_silent: async (world: World) => {
    const all = await heard(world);
    holds(all.length > 0, "nothing was heard");
    for (const { name, sound } of all) holds(!isSilent(sound), `${name} is silent`);
  },
  if_200: checkSpoken,
  same: checkSame,
  differ: checkDiffer,
  bytes_equal: checkSame,
  bytes_equal_on_cpu: checkPairs,
  equals_solo_on_cpu: checkEqualRequests,
  sample_count_equal: (world: World, [a, b]: readonly [string, string]) =>
    same(`the bytes of ${b}`, world.reply(b).body.length, world.reply(a).body.length),
  matches_pcm: (world: World) =>
    eachHeard(world, {}, ({ name, sound, reply }) => {
      const bytes = (reply?.body.length ?? 0) - 44;
      same(`the decoded samples of ${name}`, sound.frames, bytes / 2 / sound.channels);
    }),
  durations_within_ms: checkDurationsAgree,
  ffprobe_duration: checkMp3Length,
  seconds_per_char: checkPerCharacter,
  window_level_drop_max_db: checkWindows,
  pauses_min: (world: World, least: number) =>
    eachHeard(world, {}, ({ name, sound }) =>
      atLeast(`pauses in ${name}`, pauses(sound, PAUSE_MS), least),
    ),
  peak_max: (world: World, most: number) =>
    eachHeard(world, {}, ({ name, sound }) => atMost(`the peak of ${name}`, peak(sound), most)),
  mean_abs_max: (world: World, most: number) =>
    eachHeard(world, {}, ({ name, sound }) =>
      atMost(`the offset of ${name}`, Math.abs(mean(sound)), most),
    ),
};

async function checkExpression(world: World, expression: string, wanted: unknown): Promise<void> {
  const figure = await evaluate(world, expression);
  if (Array.isArray(wanted)) return between(expression, figure, wanted[0], wanted[1]);
  const [, other = ""] = /^equals (.*)$/.exec(String(wanted)) ?? [];
  if (other === "") wrong(`nothing checks ${expression} for ${wanted}`);
  const expected = await evaluate(world, other);
  between(expression, figure, expected - 1e-4, expected + 1e-4);
}

export const AUDIO_CHECKS: Checks = {
  audio: (world, member, wanted) => {
    if (isExpression(member)) return checkExpression(world, member, wanted);
    const check = CHECKS[member as keyof typeof CHECKS];
    if (check === undefined) return wrong(`nothing checks the expectation audio.${member}`);
    const section = world.wanted.expect.audio as Wanted;
    return check(world, wanted, section);
  },
};
