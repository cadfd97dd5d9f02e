/** Requests side by side on the starter model: none can be told from what it would be alone. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { FERRY, type Spoken, Starter } from "./test-starter.ts";

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.load();
});
afterAll(() => starter.close());

const NUMBERS =
  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(
    " ",
  );

it("B076: sixteen streams give the same codes together as each alone", async () => {
  const presets = [...starter.model.presets.keys()];
  const requests = NUMBERS.map((word, seed) => ({
    text: `${Array(4).fill(word).join(" ")}.`,
    voice: presets[seed % presets.length],
    seed,
    wantCodes: true,
  }));
  const together = await Promise.all(requests.map((request) => starter.speak(request)));
  for (const [i, request] of requests.entries()) {
    const alone = await starter.speak(request);
    expect(together[i]?.codes, request.text).toEqual(alone.codes);
    expect(together[i]?.digest, request.text).toBe(alone.digest);
  }
  expect(new Set(together.map(({ digest }) => digest)).size).toBe(16);
});

it.each(["int8", "fp32"] as const)(
  "one thread and four give the same codes, %s",
  async (precision) => {
    const request = { text: "The museum opens at ten.", voice: "ryan", seed: 11, wantCodes: true };
    const results = [];
    for (const threads of [1, 4]) {
      const other = await Starter.load({ precision, threads });
      results.push(await other.speak(request));
      await other.close();
    }
    expect(results[1]?.codes).toEqual(results[0]?.codes);
    expect(results[1]?.digest).toBe(results[0]?.digest);
  },
);

it("B078: voices stay apart when they speak the same text at once", async () => {
  const voices = ["clara", "ryan", "emma", "otto"];
  const request = (voice: string) => ({ text: "The window is open.", voice, seed: 2 });
  const solo = new Map<string, string>();
  for (const voice of voices) solo.set(voice, (await starter.speak(request(voice))).digest);
  expect(new Set(solo.values()).size).toBe(voices.length);
  const crowd = [...voices, ...voices, ...voices];
  const spoken = await Promise.all(crowd.map((voice) => starter.speak(request(voice))));
  for (const [i, voice] of crowd.entries()) expect(spoken[i]?.digest, voice).toBe(solo.get(voice));
});

it("B080: a seed of 0 counts, and company does not matter", async () => {
  const request = { text: "Blue glass bottle.", seed: 0 };
  const alone = await starter.speak(request);
  const others = Array.from({ length: 7 }, (_, seed) =>
    starter.speak({ text: FERRY, seed, maxFrames: 25 }),
  );
  const inCompany = await starter.speak(request);
  await Promise.all(others);
  const other = await starter.speak({ ...request, seed: 42 });
  expect(inCompany.speech.seed).toBe(0);
  expect(inCompany.digest).toBe(alone.digest);
  expect(other.digest).not.toBe(alone.digest);
});

it("B075: short and long side by side are both what they are alone", async () => {
  const short = { text: "hi", seed: 5 };
  const long = { text: FERRY, voice: "nora", seed: 5 };
  const shortAlone = await starter.speak(short);
  const longAlone = await starter.speak(long);
  for (const begin of [1, 4, 9, 20]) {
    // The long one begins, and the short one comes in at another frame each time.
    let beside: Promise<Spoken> | undefined;
    const whole = await starter.speak(long, (frames) => {
      if (frames >= begin) beside ??= starter.speak(short);
    });
    expect((await beside)?.digest).toBe(shortAlone.digest);
    expect(whole.digest).toBe(longAlone.digest);
  }
});
