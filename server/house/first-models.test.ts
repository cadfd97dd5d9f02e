/** What a server begins with: a deploy file decides alone, and without one everything that is here is offered. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chooseModels, UnknownModel, type Wish } from "./first-models.ts";

const NANO = "moss-tts-nano";
let root: string;
let folder: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "sonant-first-"));
  folder = join(root, "my-voice");
  mkdirSync(folder);
  mkdirSync(join(root, "native/models/starter"), { recursive: true });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const choose = (wish: Partial<Wish> = {}) =>
  chooseModels({ root, config: undefined, model: undefined, environment: {}, ...wish });
const deploy = (id: string) => join(root, `deploy/${id}.yaml`);

/** As a pull leaves it. */
function pull(): void {
  const target = join(root, "native/models", NANO);
  mkdirSync(target, { recursive: true });
  const manifest = { version: 1, model: NANO, source: "huggingface", pulled_at: "2026-01-01" };
  const rest = { repositories: [], voices_left_out: [], files: [] };
  writeFileSync(join(target, "manifest.json"), JSON.stringify({ ...manifest, ...rest }));
}

it("speaks with the starter alone while nothing was pulled, and says so where another is wanted", async () => {
  expect(await choose()).toMatchObject({ file: deploy("starter"), more: [] });
  const refused = choose({ model: NANO });
  await expect(refused).rejects.toThrow(UnknownModel);
  await expect(refused).rejects.toThrow(
    `There is no model '${NANO}'. --model takes a folder, or the name of one that is here: starter.`,
  );
});

it("offers what was pulled, and begins with whatever is named", async () => {
  pull();
  expect(await choose()).toMatchObject({ file: deploy("starter"), more: [deploy(NANO)] });
  const nano = { file: deploy(NANO), more: [deploy("starter")] };
  expect(await choose({ model: NANO })).toMatchObject(nano);
  // What the environment says of a folder does not replace that of the model that was named.
  const { variables } = await choose({ model: NANO, environment: { SONANT_MODEL: folder } });
  expect(variables).toEqual({ SONANT_MODEL: undefined });
  expect(await choose({ model: join(root, "native/models", NANO) })).toMatchObject(nano);
});

it("begins with any folder, under its own name, and offers the others beside it", async () => {
  pull();
  const more = [deploy("starter"), deploy(NANO)];
  const variables = { SONANT_MODEL: folder, SONANT_MODEL_NAMES: "my-voice" };
  expect(await choose({ model: folder })).toEqual({ file: undefined, more, variables });
  const environment = { SONANT_MODEL_NAMES: "mine" };
  const named = await choose({ model: folder, environment });
  expect(named.variables.SONANT_MODEL_NAMES).toBe("mine");
});

it("leaves everything to a deploy file, or a folder of the environment, that was set up", async () => {
  pull();
  const alone = { more: [], variables: {} };
  expect(await choose({ config: "my.yaml" })).toEqual({ file: "my.yaml", ...alone });
  const byEnvironment = { SONANT_CONFIG: "other.yaml" };
  expect(await choose({ environment: byEnvironment })).toEqual({ file: undefined, ...alone });
  expect(await choose({ environment: { SONANT_MODEL: folder } })).toEqual({
    file: undefined,
    ...alone,
  });
  expect(await choose({ config: "my.yaml", model: NANO })).toEqual({
    file: "my.yaml",
    more: [],
    variables: { SONANT_MODEL: join(root, "native/models", NANO) },
  });
});
