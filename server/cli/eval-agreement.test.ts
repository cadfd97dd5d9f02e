import { expect, it } from "vitest";
import { compareFrames, equalShare, sumAgreements } from "./eval-agreement.ts";

const frames = (...all: number[][]) => all.map((codes) => Int32Array.from(codes));

it("counts a frame as equal when all its codes are, and else the first that differs", () => {
  const wanted = frames([1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1], [2, 2, 2]);
  const got = [...frames([1, 2, 3], [4, 0, 0], [7, 8, 0], [0, 1, 1]), undefined];
  expect(compareFrames(wanted, got)).toEqual({
    frames: 5,
    equal: 1,
    stopped: 1,
    firstDifferences: [1, 1, 1],
  });
});

it("adds up by frames, not by sentences", () => {
  const long = compareFrames(frames([1, 1], [2, 2], [3, 3]), frames([1, 1], [2, 2], [3, 3]));
  const short = compareFrames(frames([1, 1]), frames([1, 2]));
  const silent = compareFrames([], []);
  const total = sumAgreements([long, short, silent]);
  expect(total).toEqual({ frames: 4, equal: 3, stopped: 0, firstDifferences: [0, 1] });
  expect([equalShare(total), equalShare(silent)]).toEqual([75, 0]);
});
