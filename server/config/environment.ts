/**
 * Environment variables that replace keys of the deploy file. Each is one line of the table; it is also what the
 * documentation lists.
 */
import { nearest } from "./hints.ts";

type Kind = "text" | "number" | "flag" | "list" | "path";

export interface Override {
  /** Where the value goes in the deploy file; a number is a `stage_id`. */
  readonly path: readonly (string | number)[];
  readonly kind: Kind;
  readonly about: string;
}

export const OVERRIDES: Readonly<Record<string, Override>> = {
  SONANT_HOST: { path: ["server", "host"], kind: "text", about: "Address to listen on" },
  SONANT_PORT: { path: ["server", "port"], kind: "number", about: "Port to listen on" },
  SONANT_LOG_LEVEL: { path: ["server", "log_level"], kind: "text", about: "Least log level" },
  SONANT_STREAM_DEFAULT: {
    path: ["server", "stream_default"],
    kind: "text",
    about: "Form of `stream: true`: audio or sse",
  },
  SONANT_CORS_ORIGINS: {
    path: ["server", "cors_origins"],
    kind: "list",
    about: "Origins that browsers may call from",
  },
  SONANT_MODEL: { path: ["model"], kind: "path", about: "Model folder" },
  SONANT_MODEL_NAMES: {
    path: ["served_model_names"],
    kind: "list",
    about: "Names of that model, the main one first",
  },
  SONANT_VOICES_DIR: { path: ["voices", "directory"], kind: "path", about: "Uploaded voices" },
  SONANT_VOICES_S3_BUCKET: {
    path: ["voices", "s3", "bucket"],
    kind: "text",
    about: "Bucket of uploaded voices, in place of the folder",
  },
  SONANT_VOICES_S3_ENDPOINT: {
    path: ["voices", "s3", "endpoint"],
    kind: "text",
    about: "Address of a service other than Amazon's",
  },
  SONANT_VOICES_S3_REGION: { path: ["voices", "s3", "region"], kind: "text", about: "Its region" },
  SONANT_VOICES_S3_PREFIX: {
    path: ["voices", "s3", "prefix"],
    kind: "text",
    about: "What the names of its objects begin with",
  },
  SONANT_REDIS_URL: {
    path: ["cluster", "redis_url"],
    kind: "text",
    about: "Redis that several servers share",
  },
  SONANT_DEFAULT_VOICE: { path: ["voices", "default"], kind: "text", about: "Default voice" },
  SONANT_DEVICE: {
    path: ["stages", 0, "devices"],
    kind: "text",
    about: "auto, cpu, cuda, cuda:N or cuda:N,N",
  },
  SONANT_DTYPE: { path: ["stages", 0, "dtype"], kind: "text", about: "Precision of the weights" },
  SONANT_THREADS: { path: ["stages", 0, "threads"], kind: "number", about: "Engine threads" },
  SONANT_MAX_NUM_SEQS: {
    path: ["stages", 0, "max_num_seqs"],
    kind: "number",
    about: "Requests spoken side by side",
  },
  SONANT_MAX_QUEUE: {
    path: ["stages", 0, "max_queue"],
    kind: "number",
    about: "Requests that may wait",
  },
  SONANT_ALLOW_PRIVATE_REFERENCES: {
    path: ["ref_audio", "allow_private"],
    kind: "flag",
    about: "Fetch references from private addresses",
  },
};

/** Variables that are read elsewhere: the file to load, the platform, the default name of the keys. */
export const OTHER_VARIABLES = [
  "SONANT_CONFIG",
  "SONANT_PLATFORM",
  "SONANT_API_KEY",
  "SONANT_GIT_COMMIT",
] as const;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that are about the first model alone. */
const FIRST_MODEL = ["SONANT_MODEL", "SONANT_MODEL_NAMES", "SONANT_DEFAULT_VOICE"];

/** The variables that count for every model of a server, those of its machine above all. */
export function ofEveryModel(environment: Environment): Environment {
  const kept = Object.entries(environment).filter(([name]) => !FIRST_MODEL.includes(name));
  return Object.fromEntries(kept);
}

/** Thrown with everything that is wrong with a configuration. */
export class ConfigError extends Error {
  constructor(
    readonly source: string,
    readonly problems: readonly string[],
  ) {
    super(`${source}: ${problems.join("; ")}`);
    this.name = "ConfigError";
  }
}

function read(
  name: string,
  text: string,
  kind: Kind,
  resolvePath: (path: string) => string,
): unknown {
  const value = text.trim();
  if (kind === "list")
    return value
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
  if (kind === "path") return resolvePath(value);
  if (kind === "number") {
    const number = Number(value);
    if (value !== "" && Number.isFinite(number)) return number;
    throw new ConfigError(name, [`'${value}' is not a number`]);
  }
  if (kind === "flag") {
    if (/^(1|true|yes|on)$/i.test(value)) return true;
    if (/^(0|false|no|off)$/i.test(value)) return false;
    throw new ConfigError(name, [`'${value}' is neither true nor false`]);
  }
  return value;
}

type Tree = Record<string, unknown>;

function stageOf(stages: unknown, id: number): Tree {
  const list = Array.isArray(stages) ? (stages as Tree[]) : [];
  return list.find((stage) => stage.stage_id === id) ?? { stage_id: id };
}

/** A copy of the tree with one value put in. */
function withValue(tree: Tree, path: readonly (string | number)[], value: unknown): Tree {
  const [key, id, ...rest] = path;
  if (key === undefined) return tree;
  if (id === undefined) return { ...tree, [key]: value };
  const inner = tree[key];
  if (typeof id === "number") {
    const stage = withValue(stageOf(inner, id), rest, value);
    const others = (Array.isArray(inner) ? (inner as Tree[]) : []).filter(
      (other) => other.stage_id !== id,
    );
    return { ...tree, [key]: [stage, ...others] };
  }
  const branch = typeof inner === "object" && inner !== null ? (inner as Tree) : {};
  return { ...tree, [key]: withValue(branch, [id, ...rest], value) };
}

export interface Overridden {
  readonly tree: Tree;
  /** Names of the variables that took effect. */
  readonly used: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Puts the environment's values into a deploy file that was parsed but not checked. Empty variables count as unset.
 * @throws ConfigError for a value that cannot be read
 */
export function applyEnvironment(
  file: Tree,
  environment: Environment,
  resolvePath: (path: string) => string,
): Overridden {
  let tree = file;
  const used: string[] = [];
  const warnings: string[] = [];
  const known = [...Object.keys(OVERRIDES), ...OTHER_VARIABLES];
  for (const [name, text = ""] of Object.entries(environment)) {
    if (!name.startsWith("SONANT_") || text === "") continue;
    const override = OVERRIDES[name];
    if (override !== undefined) {
      tree = withValue(tree, override.path, read(name, text, override.kind, resolvePath));
      used.push(name);
    } else if (!known.includes(name)) {
      const meant = nearest(name, known);
      if (meant !== undefined) warnings.push(`${name} is not read; did you mean ${meant}?`);
    }
  }
  return { tree, used, warnings };
}
