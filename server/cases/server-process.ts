/**
 * A server of our own as an operator runs it: a process with its own data, temporary and working folders, whose log is
 * kept. Owns the process and the folders; `close` leaves nothing behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Wanted } from "./case-file.ts";

const ROOT = join(import.meta.dirname, "../..");
const START_TIMEOUT_MS = 120_000;

/** What is different about a server that a case asks for. */
export interface ServerOptions {
  /** Keys of the deploy file, section by section. */
  readonly settings?: Wanted;
  readonly environment?: Readonly<Record<string, string>>;
  /** Folders of an earlier server, for one that continues its work. */
  readonly folder?: string;
  /** Source text that runs in the process before the server. */
  readonly preload?: string;
}

export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** `performance.now()` of the end. */
  readonly at: number;
}

export class ServerProcess {
  /** All lines it has written. */
  readonly log: string[] = [];
  readonly exited: Promise<Exit>;
  exit: Exit | undefined;
  url = "";

  private constructor(
    readonly folder: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.log.push(line));
    }
    // Whatever ends us, no server stays behind.
    const end = () => child.kill("SIGKILL");
    process.once("exit", end);
    this.exited = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        process.off("exit", end);
        this.exit = { code, signal, at: performance.now() };
        resolve(this.exit);
      });
    });
  }

  /** Starts a process without waiting until it serves. */
  static async launch(options: ServerOptions = {}): Promise<ServerProcess> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "sonant-cases-")));
    const inside = (name: string) => join(folder, name);
    for (const name of ["voices", "tmp", "work"]) await mkdir(inside(name), { recursive: true });
    await writeFile(inside("deploy.yaml"), JSON.stringify(deployFile(inside("voices"), options)));
    const child = spawn(
      process.execPath,
      [...loaders(options, inside("tmp")), join(ROOT, "server/main.ts"), "--no-ui"],
      {
        cwd: inside("work"),
        env: {
          ...withoutSettings(process.env),
          SONANT_CONFIG: inside("deploy.yaml"),
          ...options.environment,
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    return new ServerProcess(folder, child);
  }

  /**
   * Starts a server and waits until it serves.
   * @throws Error with its last lines when it ends instead
   */
  static async start(options: ServerOptions = {}): Promise<ServerProcess> {
    const server = await ServerProcess.launch(options);
    const until = performance.now() + START_TIMEOUT_MS;
    while (server.url === "") {
      if (server.exit !== undefined || performance.now() > until) {
        const lines = server.log.slice(-10).join("\n");
        await server.close();
        throw new Error(`The server did not start:\n${lines}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
      server.url = server.log.map(addressIn).find(Boolean) ?? "";
    }
    return server;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Folder of the voices that were uploaded. */
  get voices(): string {
    return join(this.folder, "voices");
  }

  /** The system's figures of the process in bytes: resident memory now, and at most so far. */
  async memory(): Promise<{ now: number; peak: number }> {
    const status = await readFile(`/proc/${this.pid}/status`, "utf8");
    const kilobytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN);
    return { now: kilobytes("VmRSS") * 1024, peak: kilobytes("VmHWM") * 1024 };
  }

  /** Open descriptors of the process. */
  async descriptors(): Promise<number> {
    return (await readdir(`/proc/${this.pid}/fd`)).length;
  }

  /** Processes that it has started and that are still known to the system, ended ones included. */
  async children(): Promise<number> {
    const text = await readFile(`/proc/${this.pid}/task/${this.pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).length;
  }

  /** Paths of all files below a folder of the server's: `voices`, `tmp` or `work`. */
  async files(name: "voices" | "tmp" | "work"): Promise<string[]> {
    const folder = join(this.folder, name);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name: file }) => join(parentPath, file));
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends the process, if it has not ended, and keeps its folders. */
  async stop(): Promise<void> {
    if (this.exit === undefined) this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Ends the process and removes its folders. */
  async close(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function addressIn(line: string): string | undefined {
  return / speaks at (http:\S+)/.exec(line)?.[1];
}

/** The temporary folder is set after the loader has found its cache, which all servers share. */
function loaders({ preload = "" }: ServerOptions, temporary: string): string[] {
  const source = `process.env.TMPDIR = ${JSON.stringify(temporary)};\n${preload}`;
  const inline = `data:text/javascript,${encodeURIComponent(source)}`;
  return ["--import", import.meta.resolve("tsx"), "--import", inline];
}

/** The caller's environment without what would change the server. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const foreign = ["PORT", "HOST", "NODE_OPTIONS"];
  const kept = Object.entries(environment).filter(
    ([name]) => !name.startsWith("SONANT_") && !foreign.includes(name),
  );
  return Object.fromEntries(kept) as NodeJS.ProcessEnv;
}

function deployFile(voices: string, { settings = {} }: ServerOptions): Record<string, unknown> {
  const file: Record<string, unknown> = {
    model: join(ROOT, "native/models/starter"),
    served_model_names: ["sonant-starter"],
    voices: { directory: voices },
    // As many as that, however busy the machine is: cases fill all places and count who is refused.
    stages: [{ stage_id: 0, max_num_seqs: 8, realtime_share: 0, max_queue_wait_s: 600 }],
    server: { port: 0 },
  };
  for (const [key, value] of Object.entries(settings)) {
    const section = file[key];
    const isSection = typeof section === "object" && !Array.isArray(section);
    file[key] = isSection ? { ...section, ...(value as object) } : value;
  }
  return file;
}
