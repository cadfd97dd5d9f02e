/** The watch over an encoder: what it counts, and that it changes nothing. */
import { expect, it } from "vitest";
import type { Encoder } from "../audio/encoder.ts";
import { timedEncoder } from "./timed-encoder.ts";

const SAMPLES = Float32Array.of(0, 0.5);

/** An encoder whose work takes a second on the clock, and its watch. */
function watched(fails = false) {
  let now = 0;
  let closed = 0;
  const reports: number[] = [];
  const work = (bytes: number) => {
    now += 1000;
    if (fails) throw new Error("broken");
    return new Uint8Array(bytes);
  };
  const inner: Encoder = {
    contentType: "audio/x",
    push: (pcm) => work(pcm.length),
    end: () => work(7),
    close: () => {
      closed += 1;
    },
  };
  const encoder = timedEncoder(
    inner,
    (seconds) => reports.push(seconds),
    () => now,
  );
  const pass = (ms: number) => {
    now += ms;
  };
  return { encoder, reports, pass, closed: () => closed };
}

it("tells the time of the work alone, once, and hands everything on", () => {
  const { encoder, reports, pass, closed } = watched();
  expect(encoder.contentType).toBe("audio/x");
  expect(encoder.push(SAMPLES)).toHaveLength(2);
  pass(5000);
  expect(encoder.end()).toHaveLength(7);
  expect(reports).toEqual([]);
  encoder.close();
  encoder.close();
  expect(reports).toEqual([2]);
  expect(closed()).toBe(2);
});

it("counts work that failed, and tells nothing where there was none", () => {
  const failing = watched(true);
  expect(() => failing.encoder.push(SAMPLES)).toThrow("broken");
  failing.encoder.close();
  expect(failing.reports).toEqual([1]);
  const idle = watched();
  idle.encoder.close();
  expect(idle.reports).toEqual([]);
});
