/** A server with several deploy files: what each decides, and what has to fit together. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configFor } from "./config.ts";
import { ConfigError, type Environment } from "./environment.ts";
import { loadConfig } from "./load.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sonant-models-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Files as objects, since JSON is YAML; the first is the server's own. */
async function load(files: readonly object[], environment: Environment = {}) {
  const names = files.map((_, index) => `${index}.yaml`);
  const [own = {}, ...others] = files;
  const models = { files: names.slice(1), ...(own as { models?: object }).models };
  const written = [{ ...own, models }, ...others];
  await Promise.all(
    written.map((file, index) => writeFile(join(folder, `${index}.yaml`), JSON.stringify(file))),
  );
  return loadConfig({ file: join(folder, "0.yaml"), environment, root: folder });
}

async function problems(files: readonly object[]) {
  const error = await load(files).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).problems;
}

const FIRST = { served_model_names: ["a"] };

describe("the keys of another model's file", () => {
  it("that belong to a model count for that model, seeds and sampling included", async () => {
    const { config, warnings } = await load([
      { ...FIRST, stages: [{ stage_id: 0, default_sampling_params: { seed: 7 } }] },
      {
        served_model_names: ["b", "bb"],
        pipeline: "moss_tts_nano",
        model: "weights/b",
        voices: { default: "mia", openai_map: { alloy: "mia" } },
        output: { channels: 2 },
        stages: [{ stage_id: 0, default_sampling_params: { seed: 0, audio_top_k: 0 } }],
      },
    ]);
    expect(warnings).toEqual([]);
    const [other] = config.models.others;
    expect(other).toMatchObject({
      source: join(folder, "1.yaml"),
      pipeline: "moss_tts_nano",
      model: join(folder, "weights/b"),
      servedModelNames: ["b", "bb"],
      sampling: { seed: 0, audioTopK: 0 },
      voices: { default: "mia", openaiMap: { alloy: "mia" } },
      output: { channels: 2 },
    });
    expect(config.pipeline).toBe("auto");
    expect(config.sampling.seed).toBe(7);
    expect(config.models).toMatchObject({ load: "on_request", maxLoaded: 2 });
    expect(Object.isFrozen(other?.sampling)).toBe(true);
  });

  it("that belong to the server are the first file's, and a difference is told", async () => {
    const { config, warnings } = await load([
      { ...FIRST, server: { port: 9000 } },
      {
        served_model_names: ["b"],
        server: { port: 9001 },
        voices: { directory: "elsewhere" },
        models: { files: ["c.yaml"] },
      },
    ]);
    const [other] = config.models.others;
    const seen = other && configFor(config, other);
    expect(seen?.server.port).toBe(9000);
    expect(seen?.voices.directory).toBe(config.voices.directory);
    const keys = warnings.map((warning) => /: (\S+) has no effect; that of /.exec(warning)?.[1]);
    expect(keys).toEqual(["server", "voices.directory", "models"]);
    expect(warnings[0]).toContain(join(folder, "1.yaml"));
  });

  it("are checked like those of any deploy file", async () => {
    await expect(load([FIRST, { served_model_names: ["b"], modle: "x" }])).rejects.toThrow(
      /1\.yaml: modle is not known; did you mean model/,
    );
    await expect(load([{ ...FIRST, models: { files: ["gone.yaml"] } }])).rejects.toThrow(
      /gone\.yaml: there is no such file/,
    );
  });
});

describe("variables", () => {
  it("of the machine count for every model, those of a model for the first", async () => {
    const { config } = await load([FIRST, { served_model_names: ["b"], model: "b" }], {
      SONANT_DEVICE: "cpu",
      SONANT_THREADS: "3",
      SONANT_MODEL: "other",
      SONANT_MODEL_NAMES: "mine, my-model",
      SONANT_DEFAULT_VOICE: "nia",
    });
    expect(config).toMatchObject({
      model: join(folder, "other"),
      servedModelNames: ["mine", "my-model"],
      voices: { default: "nia" },
      engine: { device: "cpu", threads: 3 },
    });
    expect(config.models.others[0]).toMatchObject({
      model: join(folder, "b"),
      servedModelNames: ["b"],
      voices: { default: undefined },
      engine: { device: "cpu", threads: 3 },
    });
  });
});

describe("names", () => {
  it("belong to one model each", async () => {
    const [problem, ...more] = await problems([
      { served_model_names: ["a", "x"] },
      { served_model_names: ["b"] },
      { served_model_names: ["c", "x"] },
    ]);
    expect(more).toEqual([]);
    expect(problem).toMatch(/^served_model_names: 'x' stands in .*0\.yaml and in .*2\.yaml; /);
  });

  it("of OpenAI go to the first file that has them, and never to one that is named like that", async () => {
    const { config } = await load([
      { ...FIRST, openai_aliases: ["tts-1"] },
      { served_model_names: ["b"], openai_aliases: ["tts-1", "tts-1-hd", "c"] },
      { served_model_names: ["c"], openai_aliases: ["tts-1-hd", "gpt-4o-mini-tts"] },
    ]);
    const all = [config, ...config.models.others].map(({ openaiAliases }) => openaiAliases);
    expect(all).toEqual([["tts-1"], ["tts-1-hd"], ["gpt-4o-mini-tts"]]);
  });
});

it("refuses to load more at the start than may be loaded", async () => {
  const three = [{ served_model_names: ["b"] }, { served_model_names: ["c"] }];
  const [problem] = await problems([{ ...FIRST, models: { load: "at_start" } }, ...three]);
  expect(problem).toMatch(/^models\.max_loaded: 2 is fewer than the 3 models/);
  const { config } = await load([
    { ...FIRST, models: { load: "at_start", max_loaded: 0 } },
    ...three,
  ]);
  expect(config.models.load).toBe("at_start");
});

it("serves the files that are offered from outside, once", async () => {
  await load([FIRST, { served_model_names: ["b"] }]);
  const more = [join(folder, "1.yaml")];
  const file = join(folder, "0.yaml");
  const { config } = await loadConfig({ file, more, environment: {}, root: folder });
  expect(config.models.others.map(({ source }) => source)).toEqual(more);
});
