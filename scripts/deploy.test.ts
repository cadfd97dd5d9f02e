/** What an operator is given fits the server and itself: images, compose, systemd. Docker itself is not asked. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { dockerfileProblems, inherited, stagesOf } from "./lib/dockerfile.mjs";
import { imageContents } from "./lib/image-contents.mjs";
import { ROOT } from "./lib/root.mjs";
import { serverFacts } from "./lib/server-facts.mjs";
import { which } from "./lib/tools.mjs";
import { filesBelow, readYaml, type YamlValue } from "./lib/yaml-files.mjs";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const exists = (path: string) => existsSync(join(ROOT, path));
const DOCKERFILE = "deploy/docker/Dockerfile";
const TARGETS = ["cpu", "cuda"];
const REPLICAS_FILE = "deploy/compose/replicas.yaml";
const [compose] = readYaml("deploy/compose.yaml");
const facts = serverFacts([REPLICAS_FILE], compose.services["sonant-1"].environment);
const { version } = JSON.parse(read("package.json"));

/** Packages that a script names, which is run in the image. */
const imported = (file: string) =>
  [...read(file).matchAll(/ from "([@\w][^":]*)"/g)].map(([, name = ""]) => name);

/** Lines of .dockerignore that hold for a path or for a folder above it. */
function ignoredBy(path: string): string[] {
  const patterns = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return patterns.filter((pattern) => {
    const text = pattern
      .replaceAll(".", "\\.")
      .replaceAll("**/", "(.*/)?")
      .replaceAll(/(?<!\.)\*/g, "[^/]*");
    return new RegExp(`^${text}(/|$)`).test(path);
  });
}

describe("every file of deploy/", () => {
  it("that is YAML or JSON can be read", () => {
    const files = filesBelow("deploy");
    const yaml = files.filter((file) => /\.ya?ml$/.test(file));
    expect(yaml.length).toBeGreaterThan(25);
    for (const file of yaml) expect(readYaml(file), file).not.toContain(null);
    for (const file of files.filter((name) => name.endsWith(".json"))) JSON.parse(read(file));
  });

  it("names the image of this version, and nothing else by a tag that moves", () => {
    const images = filesBelow("deploy")
      .filter((file) => /\.ya?ml$/.test(file))
      .flatMap((file) =>
        [...read(file).matchAll(/^\s*-?\s*image: (\S+)$/gm)].map(([, name]) => name),
      );
    expect(images.length).toBeGreaterThan(8);
    for (const image of images) expect(image).toMatch(/^[\w./-]+:v?\d[\w.-]*$/);
    const ours = new Set(images.filter((image) => image?.startsWith("sonant:")));
    expect([...ours].sort()).toEqual(TARGETS.map((target) => `sonant:${version}-${target}`));
    expect(read(DOCKERFILE)).toContain(`image.version="${version}"`);
  });
});

describe("the Dockerfile", () => {
  const text = read(DOCKERFILE);

  it("breaks none of the rules", () => {
    expect(dockerfileProblems(text, { targets: TARGETS, exists })).toEqual([]);
  });

  it("would be told so if it did", () => {
    const bad = [
      "FROM debian:latest AS a",
      "ADD file.tgz /",
      "COPY nowhere.txt package.json /",
      "COPY --from=b /x /",
      "RUN apt-get install -y curl",
      "ENV API_KEY=123",
      "CMD node server/main.ts",
      "USER 0",
    ].join("\n");
    const problems = dockerfileProblems(bad, { targets: ["a"], exists }).join("\n");
    for (const part of [
      "latest",
      "ADD",
      "nowhere.txt",
      "--from=b",
      "secrets",
      "a shell",
      "no HEALTHCHECK",
    ]) {
      expect(problems).toContain(part);
    }
    expect(problems).toContain("no --no-install-recommends");
    expect(problems).toContain("USER has to be");
    expect(problems).not.toContain("package.json");
  });

  it.each(TARGETS)("tells the server where it is with variables that it reads: %s", (target) => {
    const environment = inherited(stagesOf(text), target).filter(({ name }) => name === "ENV");
    const names = environment.flatMap(({ rest }) => rest.match(/\bSONANT_\w+(?==)/g) ?? []);
    expect(facts.variables).toEqual(expect.arrayContaining(names));
    expect(names).toContain("SONANT_HOST");
    const check = inherited(stagesOf(text), target).find(({ name }) => name === "HEALTHCHECK");
    expect(facts.paths).toContain(/\}(\/\w+)`/.exec(check?.rest ?? "")?.[1]);
  });

  it("asks for everything that it needs, and gets it in spite of .dockerignore", () => {
    const { files, packages } = imageContents();
    for (const path of files) expect(exists(path), path).toBe(true);
    for (const path of [...files, "scripts/image.mjs", "native/parity/main.cpp", "app", ".npmrc"]) {
      expect(ignoredBy(path), path).toEqual([]);
    }
    for (const path of [
      ".git/config",
      ".env.local",
      "deploy/x.key",
      "node_modules/x",
      "native/build/x",
    ]) {
      expect(ignoredBy(path), path).not.toEqual([]);
    }
    const names = packages.map((path) => path.replace(/^node_modules\//, ""));
    const needed = ["fastify", "next", "react", "react-dom", "tsx", "esbuild", "socket.io"];
    needed.push(...imported("deploy/compose/make-bucket.mjs"));
    expect(names).toEqual(expect.arrayContaining(needed));
    expect(names.filter((name) => /^(vitest|playwright|s3rver|typescript)$/.test(name))).toEqual(
      [],
    );
  });
});

describe("compose.yaml", () => {
  const services = Object.entries<YamlValue>(compose.services);
  const servers = services.filter(([name]) => /^sonant/.test(name));

  it("mounts what is there and depends on what it has", () => {
    for (const [name, { volumes = [], depends_on: needs = {}, profiles, build }] of services) {
      for (const [source = ""] of volumes.map((volume: string) => volume.split(":"))) {
        if (source.startsWith("."))
          expect(exists(normalize(`deploy/${source}`)), source).toBe(true);
        else expect(compose.volumes, source).toHaveProperty(source);
      }
      for (const other of Array.isArray(needs) ? needs : Object.keys(needs)) {
        expect(compose.services, name).toHaveProperty(other);
        const theirs = compose.services[other].profiles;
        if (theirs !== undefined) expect(theirs).toEqual(profiles);
      }
      if (build !== undefined) expect(TARGETS).toContain(build.target);
      if (build !== undefined) expect(exists(build.dockerfile)).toBe(true);
    }
  });

  it("tells servers what they read, and gives them longer to stop than they take", () => {
    expect(facts.files[REPLICAS_FILE]).toMatchObject({
      problems: [],
      warnings: [],
      trustProxy: true,
    });
    const drain = facts.files[REPLICAS_FILE]?.drainSeconds ?? 0;
    expect(servers.map(([name]) => name)).toEqual([
      ...["sonant", "sonant-gpu"],
      ...["sonant-1", "sonant-2", "sonant-3"],
    ]);
    for (const [
      ,
      { environment, stop_grace_period: grace, user, read_only: isClosed },
    ] of servers) {
      const names = Object.keys(environment).filter((name) => name.startsWith("SONANT_"));
      expect(facts.variables).toEqual(expect.arrayContaining(names));
      expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(drain + 5);
      expect([user, isClosed]).toEqual(["10001:10001", true]);
    }
  });

  it("holds no secret", () => {
    for (const [, { environment = {} }] of services) {
      for (const [name, value] of Object.entries(environment)) {
        if (/SECRET|PASSWORD|API_KEY/.test(name))
          expect(value, name).toMatch(/^\$\{\w+:(-|\?.+)\}$/);
      }
    }
  });
});

describe("the systemd unit", () => {
  const settings = ["sonant.env", "sonant.service", "gpu.conf"].map((name) =>
    read(`deploy/systemd/${name}`),
  );

  it("sets variables that the server reads, in a file that is there", () => {
    const names = settings.join("\n").match(/\bSONANT_\w+(?==)/g) ?? [];
    expect(names.length).toBeGreaterThan(5);
    expect(facts.variables).toEqual(expect.arrayContaining(names));
    const file = /^SONANT_CONFIG=\/opt\/sonant\/(.*)$/m.exec(settings[0] ?? "")?.[1] ?? "";
    expect(exists(file), file).toBe(true);
  });

  const analyser = which("systemd-analyze");
  it.skipIf(analyser === undefined)("is one that systemd reads without a complaint", () => {
    const folder = mkdtempSync(join(tmpdir(), "sonant-unit-"));
    try {
      const unit = join(folder, "sonant.service");
      writeFileSync(unit, (settings[1] ?? "").replace("/usr/bin/node", process.execPath));
      mkdirSync(`${unit}.d`);
      writeFileSync(join(`${unit}.d`, "gpu.conf"), settings[2] ?? "");
      const options = { encoding: "utf8", stdio: "pipe" } as const;
      const complaints = execFileSync(
        "sh",
        ["-c", '"$0" verify "$1" 2>&1', analyser ?? "", unit],
        options,
      );
      expect(complaints).toBe("");
      const offline = ["security", "--offline=true", "--threshold=25", unit];
      expect(execFileSync(analyser ?? "", offline, options)).toContain("exposure level");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
