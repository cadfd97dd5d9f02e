/** What the server says of itself, for checks of what stands around it: asked of its own code, in a process of its own. */
import { execFileSync } from "node:child_process";
import { ROOT } from "./root.mjs";

/**
 * @typedef {{ name: string, kind: string, labels: string[] }} Metric `kind` is histogram, summary, counter or gauge
 * @typedef {{ problems: string[], warnings: string[], drainSeconds: number, requestSeconds: number, bodyBytes: number,
 *   maxSequences: number, trustProxy: boolean }} DeployFacts
 * @typedef {{ metrics: Metric[], paths: string[], errorCodes: string[], variables: string[],
 *   files: Record<string, DeployFacts> }} ServerFacts
 */

const QUESTIONS = `
const { Registry, collectDefaultMetrics } = await import("prom-client");
const { instruments } = await import("./server/metrics/instruments.ts");
const { PATHS } = await import("./server/protocol/openapi-paths.ts");
const { ERRORS } = await import("./server/protocol/error-registry.ts");
const { OVERRIDES, OTHER_VARIABLES } = await import("./server/config/environment.ts");
const { loadConfig } = await import("./server/config/load.ts");
const registry = new Registry();
collectDefaultMetrics({ register: registry });
instruments(registry);
const metrics = registry.getMetricsAsArray().map((metric) => ({
  name: metric.name,
  kind: metric.constructor.name.toLowerCase(),
  labels: metric.labelNames ?? [],
}));
const files = {};
const { deployFiles, environment } = JSON.parse(process.argv[1]);
for (const file of deployFiles) {
  try {
    const { config, warnings } = await loadConfig({ file, environment, root: process.cwd() });
    files[file] = {
      problems: [],
      warnings,
      drainSeconds: config.server.drainTimeoutMs / 1000,
      requestSeconds: config.server.requestTimeoutMs / 1000,
      bodyBytes: config.limits.body_bytes,
      maxSequences: config.engine.maxSequences,
      trustProxy: config.server.trustProxy,
    };
  } catch (error) {
    files[file] = { problems: error.problems ?? [String(error)] };
  }
}
const variables = [...Object.keys(OVERRIDES), ...OTHER_VARIABLES];
const answer = { metrics, paths: Object.keys(PATHS), errorCodes: Object.keys(ERRORS), variables, files };
process.stdout.write(JSON.stringify(answer), () => process.exit(0));
`;

/**
 * Metrics with their labels, paths of the API, codes of errors, variables of the environment, and what the server makes of
 * the deploy files that are named, relative to the root, with variables over them.
 * @param {string[]} [deployFiles]
 * @param {Record<string, string>} [environment]
 * @returns {ServerFacts}
 */
export function serverFacts(deployFiles = [], environment = {}) {
  const question = JSON.stringify({ deployFiles, environment });
  const args = ["--import", "tsx", "--input-type=module", "-e", QUESTIONS, "--", question];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" }));
}
