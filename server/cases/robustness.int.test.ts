/**
 * The robustness cases of the shared file, driven from it, each against a server as an operator runs it. Long cases run in
 * their shorter forms; times are not judged here, since other work may run beside.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RobustnessCase, type RobustnessFile, readCaseFile } from "./case-file.ts";
import { OWN_EXPECTATIONS, SETTINGS } from "./mapping.ts";
import { OPEN, PROVEN, PROVEN_FASTER } from "./proven-elsewhere.ts";
import { RecipeBook } from "./recipes.ts";
import { notDriven, runCase } from "./run.ts";
import { SHORTER } from "./shorter.ts";
import { Target } from "./target.ts";

const ROOT = join(import.meta.dirname, "../..");
const FIXTURE = join(import.meta.dirname, "fixtures/robustness.json");
/** Areas that need a browser have tests of their own. */
const BROWSER_AREAS = ["player", "ui"];
/** Limits of time are here to end what hangs. */
const PATIENCE = 30;
const TIMEOUT_MS = 600_000;

const file = (await readCaseFile(FIXTURE)) as RobustnessFile;
const cases = file.cases.filter(({ area }) => !BROWSER_AREAS.includes(area));
const driven = cases.filter((one) => notDriven(one, true) === undefined);
const book = new RecipeBook(file.baseRecipe);

let target: Target;

beforeAll(async () => {
  target = await Target.own();
});

afterAll(() => target?.close());

const titled = (one: RobustnessCase) => [`${one.id} ${one.name}`, one] as const;

it.for(driven.map(titled))("%s", { timeout: TIMEOUT_MS }, async ([, one], { skip }) => {
  const { signal } = new AbortController();
  const result = await runCase(one, target, book, { patience: PATIENCE, quick: true, signal });
  const missing = result.notes.find((note) => note.includes("apt-get install"));
  if (result.status === "not run" && missing !== undefined) skip(missing);
  expect(result.problems).toEqual([]);
  expect(result.status, result.notes.join("; ")).toBe("passed");
});

describe("the file", () => {
  it("is driven, proven by another test, or left out for a reason: case by case", () => {
    const tables = [PROVEN, PROVEN_FASTER, OPEN].flatMap((table) => Object.keys(table));
    const known = [...driven.map(({ id }) => id), ...tables];
    expect(known.sort()).toEqual(cases.map(({ id }) => id).sort());
  });

  it.each(Object.entries({ ...PROVEN, ...PROVEN_FASTER }))(
    "%s is still proven where the table says",
    (_, proof) => {
      expect(readFileSync(join(ROOT, proof.file), "utf8")).toContain(proof.words);
    },
  );

  it.each([
    ["settings", SETTINGS],
    ["expectations of our own", OWN_EXPECTATIONS],
    ["shorter forms", SHORTER],
  ])("has the cases for which there are %s", (_, table) => {
    const ids = cases.map(({ id }) => id);
    for (const id of Object.keys(table)) expect(ids).toContain(id);
  });

  const beside = ["../shared", "shared"].map((folder) =>
    join(ROOT, folder, "cases/robustness.json"),
  );
  const original = beside.find(existsSync);

  it.skipIf(original === undefined)("is the given one, byte by byte", () => {
    expect(readFileSync(FIXTURE).equals(readFileSync(original ?? ""))).toBe(true);
  });
});
