/** What an independent ear makes of the starter model's speech. */
import { describe, expect, it } from "vitest";
import { evaluateVoice, forRecogniser, record } from "./eval-speak.ts";
import { recognise, recogniserMissing } from "./recognise.ts";
import { loadSpeaker, STARTER } from "./speaker.ts";
import { Command } from "./test-command.ts";

const STARTER_ON_CPU = { model: STARTER, device: "cpu", precision: "int8", threads: "1" };

describe.skipIf(recogniserMissing())("the recogniser", () => {
  it("B068: hears the last word of a sentence, and none where there was none", async () => {
    const endings = new Map([
      ["The last word here is", "hippopotamus"],
      ["At the end you hear", "umbrella"],
      ["We finish with", "chandelier"],
    ]);
    const texts = [...endings].flatMap(([start, end]) => [`${start} ${end}.`, `${start}.`]);
    const seeds = [1, 2, 3, 4];
    const { engine, model } = await loadSpeaker(STARTER_ON_CPU);
    const recordings = await Promise.all(
      texts.flatMap((text) =>
        seeds.map((seed) => record(engine, model, { text, voice: "clara", seed })),
      ),
    );
    await engine.close();
    // A choice of these few: the voice is too rough to be written down freely, but not to be told apart.
    const starts = [...endings.keys()].join(" | ").toLowerCase();
    const heard = await recognise(
      await Promise.all(recordings.map(({ pcm }) => forRecogniser(pcm, model.audio))),
      `( ${starts} ) [ ${[...endings.values()].join(" | ")} ]`,
    );
    const rightly = recordings.map(
      ({ spoken }, i) => `${heard[i]?.join(" ")}.` === spoken.toLowerCase(),
    );
    const share = (all: boolean[]) => all.filter(Boolean).length / all.length;
    const hasEnding = (i: number) => Math.floor(i / seeds.length) % 2 === 0;
    expect(share(rightly.filter((_, i) => hasEnding(i)))).toBeGreaterThanOrEqual(0.9);
    // The recogniser may give up on a sentence that breaks off; what it may not do is hear an ending.
    const words = [...endings.values()];
    const endless = recordings.map((_, i) => !words.some((word) => heard[i]?.includes(word)));
    expect(share(endless.filter((_, i) => !hasEnding(i)))).toBeGreaterThanOrEqual(0.9);
    expect(share(rightly.filter((_, i) => !hasEnding(i)))).toBeGreaterThanOrEqual(0.5);
  });

  it("understands most of what the best voice says", async () => {
    const { engine, model } = await loadSpeaker(STARTER_ON_CPU);
    const sentences = [
      "They walked to the beach in the afternoon.",
      "I will call Henry on Sunday evening.",
      "The battery is at seventy nine percent.",
      "The calendar has been saved to your cool folder.",
      "Why is the document so quick?",
      "Are you sure you want to send this presentation?",
    ];
    const figures = await evaluateVoice(engine, model, "nora", sentences, 1);
    await engine.close();
    const errors = figures.reduce((sum, { errors }) => sum + errors, 0);
    const words = figures.reduce((sum, { words }) => sum + words, 0);
    // Its rate over all sentences is about 13 %; half of the words would mean that something broke.
    expect(errors / words).toBeLessThan(0.5);
  });
});

describe("npm run eval", () => {
  it.each([
    [["wer", "--voices", "clara,nobody"], /^--voices takes names out of .*, not 'nobody'\n$/],
    [["wer", "--sentences", "0"], /^--sentences must be a whole number from 1 to 40, not '0'\n$/],
    [["wer", "--loud"], /^Unknown option '--loud'/],
    [["mos"], /^npm run eval -- wer/],
  ])("%j ends with status 2", async (args, sentence) => {
    const { status, stderr } = await new Command("eval.ts", args).result;
    expect(status).toBe(2);
    expect(stderr).toMatch(sentence);
  });
});
