/**
 * `npm run model -- pull NAME`: fetches a released model and makes a model folder of it. Says licences and sizes first, and
 * asks; goes on where it was interrupted.
 */
import { parseArgs } from "node:util";
import type { Assembled, WeightTools } from "../models/hub/assemble.ts";
import type { HubError } from "../models/hub/errors.ts";
import { type KnownModel, knownModel } from "../models/hub/known-models.ts";
import { quickFaults } from "../models/hub/manifest.ts";
import { openSource } from "../models/hub/open-source.ts";
import { isUpToDate, type PullPlan, planPull } from "../models/hub/plan.ts";
import { pull } from "../models/hub/pull.ts";
import type { RetryHooks } from "../models/hub/retry.ts";
import { SOURCES } from "../models/hub/source.ts";
import { agreed, defaultFolder, givenFolder, runCommand, shown } from "./model-places.ts";
import { size, TransferProgress } from "./model-progress.ts";
import { runTool, usage } from "./native-tool.ts";

export const PULL_USAGE = `
npm run model -- pull moss-tts-nano [--to FOLDER] [--source huggingface|modelscope] [--yes]
                [--revision R] [--codec-revision R] [--voices-revision R] [--no-voices | --all-voices]`;

const ELSEWHERE =
  "HF_ENDPOINT names a mirror, HTTPS_PROXY and NO_PROXY the way out, --source modelscope another place.";
const PART_NAMES = { lm: "language model", codec: "codec", voices: "voices" } as const;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

function readOptions(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      to: { type: "string" },
      source: { type: "string", default: "huggingface" },
      revision: { type: "string" },
      "codec-revision": { type: "string" },
      "voices-revision": { type: "string" },
      "no-voices": { type: "boolean", default: false },
      "all-voices": { type: "boolean", default: false },
      yes: { type: "boolean", short: "y", default: false },
    },
  });
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0) usage(PULL_USAGE);
  if (values["no-voices"] && values["all-voices"]) {
    usage("--no-voices and --all-voices exclude each other");
  }
  const given = {
    lm: values.revision,
    codec: values["codec-revision"],
    voices: values["voices-revision"],
  };
  const revisions = Object.entries(given).filter(([, revision]) => revision !== undefined);
  const model = knownModel(name);
  const source = SOURCES.find((known) => known === values.source);
  if (source === undefined)
    usage(`--source must be ${SOURCES.join(" or ")}, not '${values.source}'`);
  return {
    source,
    yes: values.yes,
    choices: {
      model,
      folder: values.to === undefined ? defaultFolder(model.id) : givenFolder(values.to),
      revisions: Object.fromEntries(revisions) as Partial<Record<keyof typeof given, string>>,
      withoutVoices: values["no-voices"],
      allVoices: values["all-voices"],
    },
  };
}

/** `sonant_model` speaks for itself on stderr; only its word is passed on. */
const NATIVE: WeightTools = {
  async convert(from, to) {
    const { status } = await runTool("sonant_model", ["convert", from, to], { capture: true });
    if (status !== 0) throw new Error("sonant_model could not, see above");
  },
  async check(folder) {
    const { status } = await runTool("sonant_model", ["info", folder], { capture: true });
    if (status !== 0) throw new Error("sonant_model refuses them, see above");
  },
};

/** Carries the command out. */
export function pullCommand(args: string[]): Promise<void> {
  return runCommand(() => run(args), PULL_USAGE);
}

async function run(args: string[]): Promise<number> {
  const { source: name, yes, choices } = readOptions(args);
  const interrupt = new AbortController();
  const { source, client } = openSource(name, process.env);
  let status = 0;
  const stopped = (signal: keyof typeof SIGNALS) => {
    status = SIGNALS[signal];
    interrupt.abort(new Error("interrupted"));
  };
  process.once("SIGINT", stopped).once("SIGTERM", stopped);
  const hooks: RetryHooks = {
    signal: interrupt.signal,
    onRetry: ({ message }, pauseMs) => warn(retryText(message, pauseMs)),
  };
  try {
    const plan = await planPull(source, choices, hooks);
    describe(plan, client.endpoint);
    if (await isWhole(plan)) {
      process.stdout.write(`It is there already, at ${shown(plan.places.target)}.\n`);
      return 0;
    }
    if (!yes && !(await agreed("Fetch it?"))) {
      warn("Nothing was fetched.");
      return 2;
    }
    const progress = new TransferProgress(plan.totalBytes, process.stderr);
    const made = await pull(client, plan, NATIVE, {
      ...hooks,
      onRetry: ({ message }, pauseMs) => progress.say(retryText(message, pauseMs)),
      onBytes: (bytes, path) => progress.update(bytes, path),
      onAssemble: () => progress.say("All of it is there; the model folder is being made …"),
    }).finally(() => progress.clear());
    report(plan, made);
    return 0;
  } catch (error) {
    if (status === 0) {
      if ((error as HubError).code === "source_unreachable") warn(ELSEWHERE);
      throw error;
    }
    warn("Interrupted. What has arrived is kept; the same command goes on from there.");
    return status;
  } finally {
    process.off("SIGINT", stopped).off("SIGTERM", stopped);
    await client.close();
  }
}

/** Whether there is nothing to do. What was changed without changing its size is `verify`'s to find. */
async function isWhole(plan: PullPlan): Promise<boolean> {
  const { standing, places } = plan;
  if (standing === undefined || !isUpToDate(plan)) return false;
  return (await quickFaults(places.target, standing)).length === 0;
}

const warn = (text: string) => process.stderr.write(`${text}\n`);

const retryText = (message: string, pauseMs: number) =>
  `${message}; again in ${(pauseMs / 1000).toFixed(0)} s`;

function describe(plan: PullPlan, endpoint: URL): void {
  const { model } = plan.choices;
  const lines = [`${model.name} from ${endpoint.host}`];
  for (const { part, snapshot } of plan.snapshots) {
    const bytes = plan.files
      .filter((planned) => planned.part === part)
      .reduce((sum, { file }) => sum + file.size, 0);
    const columns = [
      PART_NAMES[part].padEnd(14),
      `${snapshot.repository} @ ${snapshot.commit.slice(0, 12)}`.padEnd(58),
      licenceOf(model, snapshot.licence).padEnd(26),
      size(bytes).padStart(9),
    ];
    lines.push(`  ${columns.join("  ")}`);
  }
  const there = plan.presentBytes > 0 ? `, of which ${size(plan.presentBytes)} are here` : "";
  lines.push(
    `Altogether ${size(plan.totalBytes)}${there}; ${size(plan.freeBytes)} are free. Goes to ${shown(plan.places.target)}.`,
  );
  process.stdout.write(`${lines.join("\n")}\n`);
}

const licenceOf = (model: KnownModel, stated: string | undefined) =>
  stated === undefined ? `licence not stated (${model.licence} elsewhere)` : `licence ${stated}`;

function report({ places }: PullPlan, { voices: { voices, leftOut } }: Assembled): void {
  const lines: string[] = [];
  if (voices.length > 0) {
    const names = voices.map(({ name }) => name).join(", ");
    lines.push(`${voices.length} voices, with their published codes: ${names}.`);
  } else lines.push("No voices; it speaks with voices that are made from recordings.");
  if (leftOut.length > 0) {
    const names = leftOut.map(({ name, reason }) => `${name} (${reason})`).join(", ");
    lines.push(`Left out: ${names}. --all-voices takes those that imitate somebody.`);
  }
  const folder = shown(places.target);
  const start =
    places.target === defaultFolder("moss-tts-nano")
      ? "npm start -- --model moss-tts-nano (npm start alone has it beside the starter)"
      : `npm start -- --model ${folder}`;
  lines.push(`${folder} is complete. To speak with it: ${start}`);
  process.stdout.write(`${lines.join("\n")}\n`);
}
