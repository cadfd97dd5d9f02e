/** Small documents that a server publishes about itself: models, health, readiness, version, load. */
import { z } from "zod";

export const ModelCard = z.object({
  id: z.string().describe("Name to use as `model`"),
  object: z.literal("model").describe("Always model"),
  created: z.int().describe("Unix time at which the server loaded it"),
  owned_by: z.string().describe("Who serves it"),
  root: z.string().describe("The model behind an alias; its own id otherwise"),
});
export type ModelCard = z.infer<typeof ModelCard>;

export const ModelList = z.object({
  object: z.literal("list").describe("Always list"),
  data: z.array(ModelCard).describe("The served model under each of its names, then its aliases"),
});
export type ModelList = z.infer<typeof ModelList>;

/** The list for one served model: its names first, aliases after them. */
export function modelList(
  names: readonly string[],
  aliases: readonly string[],
  created: number,
): ModelList {
  const root = names[0] ?? "";
  const card = (id: string, of: string): ModelCard => ({
    id,
    object: "model",
    created,
    owned_by: "sonant",
    root: of,
  });
  const data = [
    ...names.map((name) => card(name, name)),
    ...aliases.filter((alias) => !names.includes(alias)).map((alias) => card(alias, root)),
  ];
  return { object: "list", data };
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

const EngineFacts = z.object({
  description: z.string().describe("Instruction set and threads, or the GPU, for people"),
  note: z.string().optional().describe("Why no GPU was taken although one might have been"),
  precision: z.enum(["int8", "fp32", "bf16"]).describe("Form of the weights"),
  threads: z.int().describe("Threads that compute"),
  weight_bytes: z.int().describe("Memory that the weights take"),
});
export type EngineFacts = z.infer<typeof EngineFacts>;

export const Version = z.object({
  version: z.string().describe("Version of the server"),
  commit: z.string().optional().describe("Commit it was started from, if known"),
  model: z.string().describe("Name of the served model"),
  device: z.string().describe("Where the engine runs: cpu or cuda:0"),
  config_sha256: z.string().describe("Hash of the resolved configuration"),
  engine: EngineFacts.optional().describe("The engine; absent until one is loaded and warm"),
});
export type Version = z.infer<typeof Version>;

export const Load = z.object({
  server_load: z.int().describe("Requests being spoken or in line"),
});
export type Load = z.infer<typeof Load>;
