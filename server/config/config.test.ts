import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { LIMITS } from "../protocol/limits.ts";
import { editorSchema } from "./check.ts";
import { configSha256, printable } from "./config.ts";
import { ConfigError, type Environment, OVERRIDES } from "./environment.ts";
import { editDistance, nearest } from "./hints.ts";
import { loadConfig } from "./load.ts";
import { DeployFile } from "./schema.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MINIMAL = "served_model_names: [m]\n";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sonant-config-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function load(yaml: string, environment: Environment = {}) {
  const file = join(folder, "deploy.yaml");
  await writeFile(file, yaml);
  return loadConfig({ file, environment, root: folder });
}

async function problems(yaml: string, environment: Environment = {}) {
  const error = await load(yaml, environment).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).problems;
}

describe("the deploy files of the repository", () => {
  it("load without a warning, the starter one by default", async () => {
    const { config, warnings } = await loadConfig({ environment: {}, root: ROOT });
    expect(warnings).toEqual([]);
    expect(config.model).toBe(join(ROOT, "native/models/starter"));
    expect(config.engine.device).toBe("auto");
    expect(config.limits).toEqual(LIMITS);
    const file = "deploy/moss-tts-nano.yaml";
    const moss = await loadConfig({ file, environment: {}, root: ROOT });
    expect(moss.warnings).toEqual([]);
    expect(moss.config.sampling.audioTopK).toBe(25);
  });

  it.each(["starter", "moss-tts-nano"])(
    "leave to the device what it does at once: %s",
    async (name) => {
      const file = `deploy/${name}.yaml`;
      const { config } = await loadConfig({ file, environment: {}, root: ROOT });
      const follows = { maxSequences: 0, prefillSliceRows: 0, encodeSliceFrames: 0 };
      expect(config.engine).toMatchObject({ device: "auto", precision: "auto", ...follows });
    },
  );

  it.each(["starter", "moss-tts-nano"])("explain every key: %s", async (name) => {
    const text = await readFile(join(ROOT, `deploy/${name}.yaml`), "utf8");
    const lines = text.split("\n");
    for (const [key, description] of documentedKeys(z.toJSONSchema(DeployFile, { io: "input" }))) {
      const at = lines.findIndex((line) => new RegExp(`^[ -]*(# )?${key}:`).test(line));
      expect(at, `${key} is missing`).toBeGreaterThan(0);
      expect(text).toContain(`# ${description}`);
    }
  });

  it("have an editor schema that is up to date", async () => {
    await expect(editorSchema()).toMatchFileSnapshot("../../deploy/schema.json");
  });
});

interface JsonSchema {
  readonly properties?: Record<string, JsonSchema>;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly deprecated?: boolean;
  readonly description?: string;
}

/** Keys with their descriptions, but for those that are ignored or only other names. */
function documentedKeys(schema: object): [string, string][] {
  const { properties = {}, items, oneOf = [], anyOf = [], ...rest } = schema as JsonSchema;
  const parts = [items, ...oneOf, ...anyOf, rest.additionalProperties];
  const inner = parts.filter((part) => typeof part === "object");
  const own = Object.entries(properties).flatMap(([key, member]): [string, string][] => {
    const description = member.description ?? "";
    if (member.deprecated || description.startsWith("Another name")) return [];
    return [[key, description], ...(key === "platforms" ? [] : documentedKeys(member))];
  });
  return [...own, ...inner.flatMap((part) => documentedKeys(part))];
}

describe("loading", () => {
  it("prefers the named file, then SONANT_CONFIG", async () => {
    const file = join(folder, "other.yaml");
    await writeFile(file, "served_model_names: [other]\n");
    const environment = { SONANT_CONFIG: file };
    const { config } = await loadConfig({ environment, root: ROOT });
    expect(config.servedModelNames).toEqual(["other"]);
    const named = await loadConfig({ file: "deploy/starter.yaml", environment, root: ROOT });
    expect(named.config.servedModelNames).toEqual(["sonant-starter"]);
  });

  it("fills in defaults, makes paths absolute and freezes the result", async () => {
    const { config } = await load(MINIMAL);
    expect(config.voices.directory).toBe(join(folder, "../data/voices"));
    expect(config.chunks).toMatchObject({ policy: "adaptive", steadyFrames: 15, firstFrames: 1 });
    expect(config.sockets.idleTimeoutMs).toBe(30_000);
    expect(Object.isFrozen(config.engine)).toBe(true);
    expect(Object.isFrozen(config.output.allowChannels)).toBe(true);
  });

  it("lets the environment replace keys", async () => {
    const { config } = await load(`${MINIMAL}stages: [{stage_id: 0, max_queue: 5}]\n`, {
      SONANT_PORT: "9000",
      SONANT_DEVICE: "cuda:1",
      SONANT_CORS_ORIGINS: "https://a.example, https://b.example",
      SONANT_ALLOW_PRIVATE_REFERENCES: "yes",
      SONANT_MODEL: "models/x",
      SONANT_HOST: "",
    });
    expect(config.server.port).toBe(9000);
    expect(config.server.host).toBe("127.0.0.1");
    expect(config.engine).toMatchObject({ device: "cuda:1", maxQueue: 5 });
    expect(config.server.corsOrigins).toEqual(["https://a.example", "https://b.example"]);
    expect(config.references.allowPrivate).toBe(true);
    expect(config.model).toBe(join(folder, "models/x"));
  });

  it("puts the settings of the platform that is named over the others", async () => {
    const yaml = `${MINIMAL}
stages: [{stage_id: 0, max_num_seqs: 3, max_queue: 5}]
platforms: {cuda: {stages: [{stage_id: 0, devices: "cuda:1", max_num_seqs: 64}]}}
`;
    const { config } = await load(yaml, { SONANT_PLATFORM: "cuda" });
    expect(config.engine).toMatchObject({ device: "cuda:1", maxSequences: 64, maxQueue: 5 });
    const other = await load(yaml);
    expect(other.config.engine).toMatchObject({ device: "auto", maxSequences: 3, maxQueue: 5 });
  });

  it("leaves to the device what the file leaves out, and takes what it says", async () => {
    const limits = async (stage: string) => {
      const { config } = await load(`${MINIMAL}stages: [{stage_id: 0${stage}}]\n`);
      const { maxSequences, prefillSliceRows, encodeSliceFrames } = config.engine;
      return [maxSequences, prefillSliceRows, encodeSliceFrames];
    };
    expect(await limits("")).toEqual([0, 0, 0]);
    const set = ", max_num_seqs: 6, prefill_slice_rows: 128, encode_slice_frames: 4";
    expect(await limits(set)).toEqual([6, 128, 4]);
    expect(
      await problems(`${MINIMAL}stages: [{stage_id: 0, prefill_slice_rows: 9999999}]\n`),
    ).toHaveLength(1);
  });

  it.each([
    ["auto", ["auto"], "auto"],
    ["cpu", ["cpu"], "cpu"],
    ["cuda", ["cuda:0"], "cuda:0"],
    ["3", ["cuda:3"], "cuda:3"],
    ["cuda:0,2,0", ["cuda:0", "cuda:2"], "cuda:0,2"],
  ])("puts an engine on each device of %s", async (written, devices, device) => {
    const { config } = await load(MINIMAL, { SONANT_DEVICE: written });
    expect(config.engine).toMatchObject({ devices, device });
  });

  it("takes every variable of the table", async () => {
    const samples = { text: "x", number: "5", flag: "true", list: "a", path: "p" };
    const special: Record<string, string> = {
      SONANT_LOG_LEVEL: "debug",
      SONANT_STREAM_DEFAULT: "sse",
      SONANT_DEVICE: "cuda",
      SONANT_DTYPE: "int8",
      SONANT_REDIS_URL: "redis://redis.example",
      SONANT_VOICES_S3_ENDPOINT: "https://storage.example:9000",
      SONANT_VOICES_S3_PREFIX: "a/b/",
    };
    const environment = Object.fromEntries(
      Object.entries(OVERRIDES).map(([name, { kind }]) => [name, special[name] ?? samples[kind]]),
    );
    const { config, warnings } = await load(MINIMAL, environment);
    expect(warnings).toEqual([]);
    expect(config.engine).toMatchObject({ device: "cuda:0", precision: "int8", threads: 5 });
    expect(config.cluster).toEqual({ redisUrl: "redis://redis.example", keyPrefix: "sonant:" });
    const s3 = { bucket: "x", endpoint: "https://storage.example:9000", region: "x" };
    expect(config.voices.s3).toEqual({ ...s3, prefix: "a/b/", forcePathStyle: true });
  });

  it("reads a deploy file of the reference server, and says what has no effect", async () => {
    const { config, warnings } = await load(`
async_chunk: false
trust_remote_code: true
served_model_names: [m]
stages:
  - stage_id: 0
    max_num_seqs: 4
    gpu_memory_utilization: 0.3
    enforce_eager: true
    devices: "0"
    default_sampling_params: {temperature: 0.9, top_p: 1.0, top_k: 50, max_tokens: 4096, seed: 42}
`);
    expect(config.sampling).toMatchObject({ textTemperature: 0.9, seed: 42 });
    expect(config.engine).toMatchObject({ device: "cuda:0", maxSequences: 4 });
    expect(warnings.map((warning) => warning.split(" ")[0])).toEqual([
      "async_chunk",
      "trust_remote_code",
      "stages.0.gpu_memory_utilization",
      "stages.0.enforce_eager",
      "stages.0.default_sampling_params.max_tokens",
    ]);
  });
});

describe("mistakes", () => {
  it("in names are answered with the name that was meant", async () => {
    expect(await problems(`${MINIMAL}serverr: {}\n`)).toEqual([
      "serverr is not known; did you mean server?",
    ]);
    expect(await problems(`${MINIMAL}stages: [{stage_id: 0, max_num_seq: 2}]\n`)).toEqual([
      "stages.0.max_num_seq is not known; did you mean max_num_seqs?",
    ]);
    expect(await problems(`${MINIMAL}ws: {idle_timeout: 5}\n`)).toEqual([
      "ws.idle_timeout is not known; did you mean idle_timeout_s?",
    ]);
    const [problem] = await problems(`${MINIMAL}connectors: {c: {extra: {zzzzzz: 1}}}\n`);
    expect(problem).toContain(
      "connectors.c.extra.zzzzzz is not known; known here: codec_chunk_frames",
    );
  });

  it("are all reported at once", async () => {
    const found = await problems("server: {port: 99999, early_headers: 3}\nlimit: {}\n");
    expect(found).toHaveLength(4);
    expect(found.join("\n")).toMatch(/served_model_names.*\n.*server.port/);
  });

  it("that only show between keys are found", async () => {
    expect(await problems(`${MINIMAL}output: {channels: 2, allow_channels: [1]}\n`)).toHaveLength(
      1,
    );
    const stages = "stages: [{stage_id: 0, devices: cpu}, {stage_id: 1, devices: cuda}]\n";
    expect(await problems(MINIMAL + stages)).toEqual([
      "stages: both stages have to be on the same device",
    ]);
    const follows = `${MINIMAL}stages: [{stage_id: 0, devices: cuda}, {stage_id: 1}]\n`;
    expect((await load(follows)).config.engine.device).toBe("cuda:0");
    expect(await problems(`${MINIMAL}stages: [{stage_id: 1}]\n`)).toHaveLength(1);
    expect(await problems(`${MINIMAL}connectors: {a: {}, b: {}}\n`)).toHaveLength(1);
  });

  it("in the file itself name the file", async () => {
    await expect(load("a: [1\n")).rejects.toThrow(/deploy\.yaml: .*line/);
    await expect(load("- 1\n")).rejects.toThrow("a table of keys");
    const missing = loadConfig({ file: "missing.yaml", environment: {}, root: folder });
    await expect(missing).rejects.toThrow("no such file");
  });

  it("in the environment name the variable", async () => {
    expect(await problems(MINIMAL, { SONANT_PORT: "http" })).toEqual(["'http' is not a number"]);
    expect(await problems(MINIMAL, { SONANT_PLATFORM: "tpu" })).toHaveLength(1);
    expect(await problems(MINIMAL, { SONANT_ALLOW_PRIVATE_REFERENCES: "maybe" })).toHaveLength(1);
    const { warnings } = await load(MINIMAL, { SONANT_PROT: "1", SONANT_CHROMIUM: "/bin/x" });
    expect(warnings).toEqual(["SONANT_PROT is not read; did you mean SONANT_PORT?"]);
  });

  it("in addresses say what they have to be, and never show a password", async () => {
    const redis = "cluster.redis_url: has to be a redis:// or rediss:// address";
    expect(await problems(MINIMAL, { SONANT_REDIS_URL: "http://:secret@host" })).toEqual([redis]);
    expect(await problems(MINIMAL, { SONANT_VOICES_S3_ENDPOINT: "host:9000" })).toEqual([
      "voices.s3.bucket: Invalid input: expected string, received undefined",
      "voices.s3.endpoint: has to be an http:// or https:// address",
    ]);
    expect(await problems(`${MINIMAL}voices: {s3: {bucket: b, prefix: /v}}\n`)).toHaveLength(1);
    expect(await problems(`${MINIMAL}voices: {s3: {buckt: b, bucket: c}}\n`)).toEqual([
      "voices.s3.buckt is not known; did you mean bucket?",
    ]);
  });

  it("are measured in edits", () => {
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(nearest("prt", ["port", "host"])).toBe("port");
    expect(nearest("unrelated", ["port", "host"])).toBeUndefined();
  });
});

describe("printing", () => {
  it("masks secrets and hashes what it shows", async () => {
    const { config } = await load(MINIMAL, { SONANT_API_KEY: "key-one, key-two" });
    expect(config.server.apiKeys).toEqual(["key-one", "key-two"]);
    expect(JSON.stringify(printable(config))).not.toContain("key-");
    expect(printable(config).server.apiKeys).toHaveLength(2);
    const other = await load(MINIMAL, { SONANT_API_KEY: "key-three,key-four" });
    expect(configSha256(other.config)).toBe(configSha256(config));
    const moved = await load(MINIMAL, { SONANT_PORT: "1" });
    expect(configSha256(moved.config)).not.toBe(configSha256(config));
    expect(configSha256(config)).toMatch(/^[0-9a-f]{64}$/);
    for (const url of ["redis://user:secret@host:1/2", "redis://host?password=secret"]) {
      const shared = await load(MINIMAL, { SONANT_REDIS_URL: url });
      expect(shared.config.cluster.redisUrl).toBe(url);
      expect(JSON.stringify(printable(shared.config))).toMatch(/redis:..[^"]*host/);
      expect(JSON.stringify(printable(shared.config))).not.toContain("secret");
    }
  });
});
