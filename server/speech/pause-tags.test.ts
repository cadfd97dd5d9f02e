/** Silence that a text asks for: where it lies in the audio, how long it is, and what does not change it. */
import { afterEach, describe, expect, it } from "vitest";
import {
  type House,
  hashOf,
  only,
  openHouse,
  pcmOf,
  REQUEST,
  readUntil,
  speak,
} from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

const TAGS: Partial<SessionRequest> = { pauseTags: true };
const PLAIN = "One is here. Two is here.";
const TAGGED = "One is here. [pause 0.75s] Two is here.";
/** Samples a millisecond of the tone engine's audio, mixed to one channel. */
const PER_MS = 8;

let house: House;
afterEach(() => house.service.close());

/** Audio of each unit. */
async function unitsOf(text: string | readonly string[], request: Partial<SessionRequest> = TAGS) {
  const events = await speak(house, typeof text === "string" ? [text] : text, request);
  return only(events, "unit").map(({ unit, text: said, textStart, textEnd }) => ({
    said,
    place: [textStart, textEnd],
    pcm: only(events, "audio").flatMap((event) => (event.unit === unit ? [...event.pcm] : [])),
  }));
}

/** Zeros in front, and the rest. */
function split(pcm: readonly number[] = []): [number, string] {
  const silent = pcm.findIndex((sample) => sample !== 0);
  return [silent, hashOf(pcm.slice(silent))];
}

describe("a pause tag", () => {
  it("is silence to the sample in place of the usual pause, and changes nothing else", async () => {
    house = await openHouse();
    const plain = await unitsOf(PLAIN);
    const tagged = await unitsOf(TAGGED);
    expect(tagged.map(({ said }) => said)).toEqual(["One is here.", "Two is here."]);
    for (const { said, place } of tagged) expect(TAGGED.slice(...place)).toBe(said);
    expect(hashOf(tagged[0]?.pcm ?? [])).toBe(hashOf(plain[0]?.pcm ?? []));
    const [usual, speech] = split(plain[1]?.pcm);
    const [asked, same] = split(tagged[1]?.pcm);
    // The tone's own first sample is a zero as well, with and without a tag.
    expect(asked - usual).toBe((750 - 400) * PER_MS);
    expect(same).toBe(speech);
  });

  it("is heard as long at any speed and rate", async () => {
    house = await openHouse();
    for (const shape of [{ speed: 2 }, { sampleRate: 16_000 }, { channels: 2 }] as const) {
      const [, second] = await unitsOf(TAGGED, { ...TAGS, ...shape });
      const [, bare] = await unitsOf("One is here. [pause 0s] Two is here.", { ...TAGS, ...shape });
      const samples = 0.75 * { sampleRate: 8000, channels: 1, ...shape }.sampleRate;
      const width = { channels: 1, ...shape }.channels;
      expect((second?.pcm.length ?? 0) - (bare?.pcm.length ?? 0)).toBe(samples * width);
      expect(second?.pcm.slice(samples * width)).toEqual(bare?.pcm);
      expect(second?.pcm.slice(0, samples * width).every((sample) => sample === 0)).toBe(true);
    }
  });

  it("cuts a sentence in two, stands in front of a text, adds up, and is nothing at its end", async () => {
    house = await openHouse();
    const units = await unitsOf("[pause 1s] So [pause 1s][pause:500ms] it goes. [pause 2s]");
    expect(units.map(({ said }) => said)).toEqual(["So", "it goes."]);
    const bare = await unitsOf("[pause 0s] So [pause 0s] it goes.");
    const more = units.map(({ pcm }, i) => pcm.length - (bare[i]?.pcm.length ?? 0));
    expect(more).toEqual([1000 * PER_MS, 1500 * PER_MS]);
  });

  it("goes to the next words where those behind it cannot be said", async () => {
    house = await openHouse();
    const units = await unitsOf("One is here. [pause 1s] --- [pause 1s] Two is here.");
    expect(units).toHaveLength(2);
    const [, bare] = await unitsOf("One is here. [pause 0s] Two is here.");
    expect((units[1]?.pcm.length ?? 0) - (bare?.pcm.length ?? 0)).toBe(2000 * PER_MS);
  });

  it("sounds the same however the text came in, at any granularity", async () => {
    house = await openHouse();
    const text = `${TAGGED} [pause 120ms] And [pau three. [pause:1s]`;
    for (const granularity of ["auto", "sentence", "clause", "none"] as const) {
      const request = { ...TAGS, granularity };
      const whole = hashOf(pcmOf(await speak(house, [text], request)));
      expect(hashOf(pcmOf(await speak(house, [...text], request)))).toBe(whole);
      const halves = [text.slice(0, 16), text.slice(16)];
      expect(hashOf(pcmOf(await speak(house, halves, request)))).toBe(whole);
    }
  });

  it("that is only begun is text when it is flushed", async () => {
    house = await openHouse();
    const session = house.service.open({ ...REQUEST, ...TAGS });
    session.push("Look: [pause");
    session.flush();
    session.push(" 1s] there.");
    session.end();
    const events = await readUntil(session.events, "utterance-end");
    expect(only(events, "unit").map(({ text }) => text)).toEqual(["Look: [pause", "1s] there."]);
    await session.close();
  });

  it("is text like any other for those who did not ask", async () => {
    house = await openHouse();
    const units = await unitsOf("One [pause 1s] two.", {});
    expect(units.map(({ said }) => said)).toEqual(["One [pause 1s] two."]);
  });
});
