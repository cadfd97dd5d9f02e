/**
 * Scrapes, alerts, dashboard and autoscaler ask for what the server exports. Names are compared with the server's own list;
 * expressions are read by promtool, which also plays the alerts' tests.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { namesIn, strangeNames } from "./lib/promql.mjs";
import { ROOT } from "./lib/root.mjs";
import { serverFacts } from "./lib/server-facts.mjs";
import { which } from "./lib/tools.mjs";
import { readYaml, type YamlValue } from "./lib/yaml-files.mjs";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const { metrics, errorCodes, paths } = serverFacts();
const [alerts] = readYaml("deploy/prometheus/alerts.yml");
const rules: YamlValue[] = alerts.groups.flatMap((group: YamlValue) => group.rules);
const dashboard = JSON.parse(read("deploy/grafana/dashboards/sonant.json"));
const panels: YamlValue[] = dashboard.panels.filter(({ type }: YamlValue) => type !== "row");
const [scaler] = readYaml("deploy/kubernetes/components/autoscaling/scaledobject.yaml");

/** Every expression of deploy/, by where it stands. */
const expressions: [place: string, expression: string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ refId, expr }: YamlValue): [string, string] => [`${title} ${refId}`, expr]),
  ),
  ...dashboard.annotations.list.map(({ name, expr }: YamlValue): [string, string] => [name, expr]),
  ...dashboard.templating.list.map(({ name, definition }: YamlValue): [string, string] => [
    name,
    /label_values\((.*), \w+\)/.exec(definition)?.[1] ?? "",
  ]),
  ...scaler.spec.triggers.map(({ name, metadata }: YamlValue): [string, string] => [
    name,
    metadata.query,
  ]),
];

describe("names in expressions", () => {
  it("are exported", () => {
    for (const [place, expression] of expressions) {
      expect(namesIn(expression).selectors, place).not.toEqual([]);
      expect(strangeNames(expression, metrics), place).toEqual([]);
    }
  });

  it("would be found out if they were not", () => {
    const strange = (expression: string) => strangeNames(expression, metrics).join("; ");
    expect(strange('sum by (job) (rate(tts_requests{job="a"}[5m]))')).toContain(
      "tts_requests is not",
    );
    expect(strange('rate(tts_requests_total{colour="red"}[5m])')).toContain("no label colour");
    expect(strange("sum by (colour) (tts_requests_total)")).toContain("the label colour");
    expect(strange("tts_queue_wait_seconds > 1")).toContain("tts_queue_wait_seconds is not");
    expect(strange('up{job="}{"} == 1 and on (job) tts_nothing offset 5m')).toBe(
      "tts_nothing is not exported",
    );
  });

  it("give reasons that the server gives", () => {
    const reasons = expressions
      .flatMap(([, expression]) => namesIn(expression).selectors)
      .flatMap(({ matchers }) => matchers)
      .filter(({ label }) => label === "reason")
      .flatMap(({ value }) => value.split("|"));
    expect(reasons).toContain("overloaded");
    expect(errorCodes).toEqual(expect.arrayContaining(reasons));
  });
});

describe("alerts", () => {
  it("say how bad it is and what to do", () => {
    const guide = read("deploy/README.md");
    for (const { alert, labels, annotations } of rules) {
      expect(["warning", "critical"], alert).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.runbook).toBe(`deploy/README.md#${alert.toLowerCase()}`);
      expect(guide).toMatch(new RegExp(`^#+ ${alert}\\n\\n\\w`, "m"));
    }
  });

  it("are all tested, where they fire and where they do not", () => {
    const [{ tests }] = readYaml("deploy/prometheus/alerts.test.yml");
    const checks: YamlValue[] = tests.flatMap((test: YamlValue) => test.alert_rule_test);
    for (const { alert } of rules) {
      const own = checks.filter(({ alertname }) => alertname === alert);
      const firing = own.map(({ exp_alerts: expected }) => expected.length > 0);
      expect([alert, new Set(firing)]).toEqual([alert, new Set([true, false])]);
    }
  });
});

describe("the dashboard", () => {
  it("asks the data source that is provisioned, and reads its files where compose.yaml puts them", () => {
    const [sources] = readYaml("deploy/grafana/provisioning/datasources/prometheus.yaml");
    const asked = JSON.stringify(dashboard).match(/"uid":"(?!sonant")[^"]*"/g);
    expect(new Set(asked)).toEqual(new Set([`"uid":"${sources.datasources[0].uid}"`]));
    const [{ providers }] = readYaml("deploy/grafana/provisioning/dashboards/sonant.yaml");
    const [{ services }] = readYaml("deploy/compose.yaml");
    expect(services.grafana.volumes).toContain(
      `./grafana/dashboards:${providers[0].options.path}:ro`,
    );
    expect(sources.datasources[0].url).toBe("http://prometheus:9090");
  });

  it("shows each panel once, beside the others", () => {
    const places = new Set<string>();
    for (const { gridPos: at, title } of dashboard.panels) {
      expect(at.x + at.w, title).toBeLessThanOrEqual(24);
      for (let x = at.x; x < at.x + at.w; x += 1) {
        for (let y = at.y; y < at.y + at.h; y += 1) {
          expect(places.has(`${x} ${y}`), title).toBe(false);
          places.add(`${x} ${y}`);
        }
      }
    }
    expect(new Set(dashboard.panels.map(({ id }: YamlValue) => id)).size).toBe(
      dashboard.panels.length,
    );
    for (const { description, title } of panels) expect(description, title).toMatch(/\.$/);
  });
});

it("Prometheus looks for servers by the name and port that compose.yaml gives them", () => {
  const [{ scrape_configs: jobs }] = readYaml("deploy/prometheus/prometheus.yml");
  const [{ services }] = readYaml("deploy/compose.yaml");
  const [{ names, port }] = jobs[0].dns_sd_configs;
  for (const [name, service] of Object.entries<YamlValue>(services)) {
    if (!name.startsWith("sonant")) continue;
    expect(service.networks.default.aliases).toEqual(names);
  }
  expect(read("deploy/docker/Dockerfile")).toContain(`EXPOSE ${port}`);
  expect(paths).toContain("/metrics");
});

describe.skipIf(which("promtool") === undefined)("promtool (Debian: prometheus)", () => {
  const promtool = (...args: string[]) =>
    execFileSync("promtool", args, {
      cwd: join(ROOT, "deploy/prometheus"),
      encoding: "utf8",
      stdio: "pipe",
    });

  it("accepts the configuration with its rules", () => {
    expect(promtool("check", "config", "prometheus.yml")).toContain("SUCCESS");
    expect(promtool("check", "rules", "alerts.yml")).toContain(`${rules.length} rules found`);
  });

  it("sees every alert fire when it should and at no other time", () => {
    expect(promtool("test", "rules", "alerts.test.yml")).toContain("SUCCESS");
  });

  it("can read every expression", () => {
    const folder = mkdtempSync(join(tmpdir(), "sonant-rules-"));
    try {
      const asRules = expressions.map(([, expression], at) => ({
        record: `expression:${at}`,
        expr: expression.replaceAll("$__rate_interval", "5m"),
      }));
      const file = join(folder, "expressions.yml");
      writeFileSync(file, JSON.stringify({ groups: [{ name: "all", rules: asRules }] }));
      expect(promtool("check", "rules", file)).toContain(`${expressions.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
