/** Small documents that a server publishes about itself: models, health, readiness, version, load. */
import { z } from "zod";

const EngineFacts = z.object({
  description: z.string().describe("Instruction set and threads, or the GPU, for people"),
  note: z.string().optional().describe("Why no GPU was taken although one might have been"),
  precision: z.enum(["int8", "fp32", "bf16"]).describe("Form of the weights"),
  threads: z.int().describe("Threads that compute"),
  weight_bytes: z.int().describe("Memory that the weights take"),
});
export type EngineFacts = z.infer<typeof EngineFacts>;

export const MODEL_STAGES = [
  "unloaded",
  "loading",
  "warming",
  "ready",
  "draining",
  "failed",
] as const;
/** A model that is `unloaded` is loaded when it is asked for; one that is `draining` speaks to its end and is then unloaded. */
export type ModelStage = (typeof MODEL_STAGES)[number];

const ModelFacts = z.object({
  state: z
    .enum(MODEL_STAGES)
    .describe(
      "ready: it speaks; unloaded: it is loaded when it is asked for; draining: it is being unloaded",
    ),
  reason: z.string().optional().describe("Why it failed"),
  main: z.string().describe("Main name of the model, whichever of its names this is"),
  is_default: z.boolean().describe("Whether it speaks for requests that name no model"),
  name: z.string().optional().describe("What the model calls itself"),
  family: z.string().optional().describe("Model family"),
  description: z.string().optional().describe("One sentence about it"),
  languages: z.array(z.string()).optional().describe("Two-letter codes that it was trained on"),
  capabilities: z
    .object({
      cloning: z.boolean().describe("It speaks like a recording"),
      instructions: z.boolean().describe("It follows `instructions`"),
      speed: z.boolean().describe("It changes its speed by itself"),
    })
    .optional()
    .describe(
      "What it can do; left out, like all of its own facts, while its folder cannot be read",
    ),
  sample_rate: z.int().optional().describe("Native samples per second"),
  default_voice: z.string().nullable().optional().describe("Voice that speaks when none is named"),
  sampling: z
    .object({
      temperature: z.number().describe("Of the text"),
      audio_temperature: z.number().describe("Of the voice"),
    })
    .optional()
    .describe("Sampling of requests that do not say"),
  device: z.string().describe("Where its engine runs: cpu or cuda:0"),
  engine: EngineFacts.optional().describe("Its engine; absent until it is loaded and warm"),
});
export type ModelFacts = z.infer<typeof ModelFacts>;

export const ModelCard = z.object({
  id: z.string().describe("Name to use as `model`"),
  object: z.literal("model").describe("Always model"),
  created: z.int().describe("Unix time at which the server began to offer it"),
  owned_by: z.string().describe("Who serves it"),
  root: z.string().describe("The main name of the model behind an alias; its own id otherwise"),
  sonant: ModelFacts.describe("What this server says of the model beyond OpenAI's fields"),
});
export type ModelCard = z.infer<typeof ModelCard>;

export const ModelList = z.object({
  object: z.literal("list").describe("Always list"),
  data: z.array(ModelCard).describe("Each model under each of its names, then all aliases"),
});
export type ModelList = z.infer<typeof ModelList>;

/** A model that is listed. */
export interface ListedModel {
  readonly names: readonly string[];
  readonly aliases: readonly string[];
  readonly facts: ModelFacts;
}

/** One model under one of its names. @param created Unix time in seconds */
export function modelCard(id: string, { names, facts }: ListedModel, created: number): ModelCard {
  const root = names.includes(id) ? id : (names[0] ?? id);
  return { id, object: "model", created, owned_by: "sonant", root, sonant: facts };
}

/** The list of the served models: their names first, aliases after them. */
export function modelList(models: readonly ListedModel[], created: number): ModelList {
  const names = models.flatMap((model) =>
    model.names.map((name) => modelCard(name, model, created)),
  );
  const isTaken = (id: string) => names.some((card) => card.id === id);
  const aliases = models.flatMap((model) =>
    model.aliases
      .filter((alias) => !isTaken(alias))
      .map((alias) => modelCard(alias, model, created)),
  );
  return { object: "list", data: [...names, ...aliases] };
}

export const Health = z.object({
  status: z.enum(["healthy", "unhealthy"]).describe("healthy once warm-up has ended"),
  reason: z.string().optional().describe("Why it is not healthy"),
  device: z.string().optional().describe("Where the engine runs: cpu or cuda:0"),
});
export type Health = z.infer<typeof Health>;

export const Ready = z.object({
  ready: z.boolean().describe("Whether new requests are accepted now"),
  reason: z
    .enum(["warming_up", "shutting_down", "overloaded", "engine_dead"])
    .optional()
    .describe("Why they are not"),
  active: z.int().describe("Requests being spoken"),
  waiting: z.int().describe("Requests in line"),
  capacity: z
    .int()
    .describe(
      "Requests that can be spoken at once in real time, as measured; 0 until an engine has been loaded",
    ),
});
export type Ready = z.infer<typeof Ready>;

export const Version = z.object({
  version: z.string().describe("Version of the server"),
  commit: z.string().optional().describe("Commit it was started from, if known"),
  model: z.string().describe("Name of the model that speaks where none is named"),
  device: z.string().describe("Where the engine runs: cpu or cuda:0"),
  config_sha256: z.string().describe("Hash of the resolved configuration"),
  engine: EngineFacts.optional().describe("The engine; absent until one is loaded and warm"),
});
export type Version = z.infer<typeof Version>;

export const Load = z.object({
  server_load: z.int().describe("Requests being spoken or in line"),
});
export type Load = z.infer<typeof Load>;
