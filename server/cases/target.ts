/** The server that cases are run against: one of our own, whose process can be looked into, or any other by its address. */
import { NotRunnable } from "./check.ts";
import { MetricsPage } from "./metrics-page.ts";
import { type ServerOptions, ServerProcess } from "./server-process.ts";

const PATIENCE_MS = 30_000;

/** What is read of the server's own document about itself. */
interface Limits {
  readonly presets?: readonly string[];
  readonly default_voice?: string;
  readonly sample_rate?: number;
}

export class Target {
  private constructor(
    /** Without a slash at the end. */
    readonly url: string,
    readonly apiKey: string | undefined,
    /** Undefined for a server that we did not start. */
    readonly process: ServerProcess | undefined,
    /** Built-in voices, the default one first. */
    readonly voices: readonly string[],
    /** Requests that it speaks side by side. */
    readonly slots: number,
    /** Hz of its model. */
    readonly sampleRate: number,
    /** Its model's main name. */
    readonly model: string,
  ) {}

  /** Starts a server of our own. */
  static async own(options: ServerOptions = {}, apiKey?: string): Promise<Target> {
    const process = await ServerProcess.start(options);
    return Target.#look(process.url, apiKey, process);
  }

  /** Takes a server that runs. @throws Error when nothing answers there */
  static remote(url: string, apiKey?: string): Promise<Target> {
    return Target.#look(url.replace(/\/+$/, ""), apiKey, undefined);
  }

  static async #look(url: string, apiKey?: string, process?: ServerProcess): Promise<Target> {
    const read = async (path: string) => {
      const answer = await fetch(url + path, { headers: authorization(apiKey) });
      if (!answer.ok) throw new Error(`${url}${path} answers ${answer.status}.`);
      return answer.json();
    };
    const limits = await read("/v1/audio/speech/limits").catch((error: Error) => {
      const { cause } = error as { cause?: Error };
      throw new Error(`No server can be used at ${url}: ${cause?.message ?? error.message}`);
    });
    const ready = await read("/ready").catch(() => ({ capacity: 1 }));
    const models = await read("/v1/models");
    const { presets = [], default_voice: first, sample_rate: rate = 0 } = limits as Limits;
    const voices = [first, ...presets.filter((name) => name !== first)];
    const known = voices.filter((name) => name !== undefined && name !== null) as string[];
    return new Target(url, apiKey, process, known, Number(ready.capacity), rate, models.data[0].id);
  }

  get headers(): Record<string, string> {
    return authorization(this.apiKey);
  }

  /** Address of the speech socket at a path. */
  socketUrl(path: string): string {
    return this.url.replace(/^http/, "ws") + path;
  }

  async metrics(): Promise<MetricsPage> {
    const answer = await fetch(`${this.url}/metrics`, {
      headers: this.headers,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return new MetricsPage(await answer.text());
  }

  /** Names of the voices that were uploaded. */
  async uploads(): Promise<string[]> {
    const answer = await fetch(`${this.url}/v1/audio/voices`, { headers: this.headers });
    const { uploaded_voices: uploaded } = (await answer.json()) as {
      uploaded_voices: { name: string }[];
    };
    return uploaded.map(({ name }) => name);
  }

  async deleteUpload(name: string): Promise<void> {
    const path = `/v1/audio/voices/${encodeURIComponent(name)}`;
    await fetch(this.url + path, { method: "DELETE", headers: this.headers });
  }

  async isHealthy(): Promise<boolean> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    return (await fetch(`${this.url}/health`, { signal })).ok;
  }

  /** Resident memory in bytes. */
  async residentBytes(): Promise<number> {
    return (await this.process?.memory())?.now ?? (await this.metrics()).sum("rss");
  }

  /** Open descriptors. */
  async descriptors(): Promise<number> {
    return (await this.process?.descriptors()) ?? (await this.metrics()).sum("descriptors");
  }

  /** The process. @throws NotRunnable for a server that we did not start */
  own(what: string): ServerProcess {
    if (this.process === undefined)
      throw new NotRunnable(`${what} needs a server of our own: leave out --url`);
    return this.process;
  }

  async close(): Promise<void> {
    await this.process?.close();
  }
}

function authorization(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
