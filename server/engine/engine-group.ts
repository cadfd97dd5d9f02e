/**
 * Several engines as one, each on a device of its own: a generation goes to the one with the least to do, and stays there.
 * Knows nothing of devices; whoever loads the engines has chosen them.
 */
import type { CallOptions, Engine } from "./engine.ts";
import type { EngineStream } from "./stream.ts";
import type { AudioChunk, EngineInfo, EngineStats, GenerateOptions } from "./types.ts";

/** An engine as the group needs it. */
export type Member = Pick<Engine, "generate" | "encode" | "decode" | "stats" | "info" | "close">;

/** Voices whose last place is remembered. */
const MOST_PLACES = 1024;

export class EngineGroup implements Member {
  readonly members: readonly Member[];
  readonly info: EngineInfo;
  /** Work at each member that has not ended. */
  readonly #active: number[];
  /** Where each voice was spoken last: there it is warm. The latest are at the end. */
  readonly #places = new Map<string, number>();

  /**
   * @param members at least one, with the same model
   * @throws Error if there is none
   */
  constructor(members: readonly Member[]) {
    const [first] = members;
    if (first === undefined) throw new Error("A group needs an engine");
    this.members = members;
    this.#active = members.map(() => 0);
    const infos = members.map(({ info }) => info);
    this.info = {
      ...first.info,
      description: [...new Set(infos.map(({ description }) => description))]
        .map((text) => {
          const count = infos.filter(({ description }) => description === text).length;
          return count > 1 ? `${count} × ${text}` : text;
        })
        .join("; "),
      threads: infos.reduce((sum, { threads }) => sum + threads, 0),
      weightBytes: infos.reduce((sum, { weightBytes }) => sum + weightBytes, 0),
      limits: {
        ...first.info.limits,
        maxSequences: infos.reduce((sum, { limits }) => sum + limits.maxSequences, 0),
      },
    };
  }

  /** Loads all at once. Rejects with the first failure, when those that could be loaded are closed again. */
  static async load(loads: readonly (() => Promise<Member>)[]): Promise<EngineGroup> {
    const results = await Promise.allSettled(loads.map((load) => load()));
    const loaded = results.flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure === undefined) return new EngineGroup(loaded);
    await Promise.allSettled(loaded.map((member) => member.close()));
    throw failure.reason;
  }

  /** As `Engine.generate`. */
  generate(options: GenerateOptions, call?: CallOptions): EngineStream {
    const at = this.#choose(options.prefixKey);
    const stream = this.#member(at).generate(options, call);
    this.#remember(options.prefixKey, at);
    void this.#during(at, stream.finished);
    return stream;
  }

  /** As `Engine.encode`. */
  encode(
    pcm: Float32Array,
    channels: number,
    sampleRate: number,
    call?: CallOptions,
  ): Promise<Int32Array> {
    const at = this.#choose(undefined);
    return this.#during(at, this.#member(at).encode(pcm, channels, sampleRate, call));
  }

  /** As `Engine.decode`. */
  decode(codes: Int32Array, nBooks: number, call?: CallOptions): Promise<AudioChunk> {
    const at = this.#choose(undefined);
    return this.#during(at, this.#member(at).decode(codes, nBooks, call));
  }

  /** Sums, and of times the worst. @throws EngineError `closed` */
  stats(): EngineStats {
    const all = this.members.map((member) => member.stats());
    const keys = Object.keys(all[0] ?? {}) as (keyof EngineStats)[];
    const entries = keys.map((key) => {
      const values = all.map((stats) => stats[key]);
      if (key === "leadMsMin") return [key, least(all)];
      return [key, key.includes("Ms") ? Math.max(...values) : values.reduce((a, b) => a + b, 0)];
    });
    return Object.fromEntries(entries) as EngineStats;
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }

  #member(at: number): Member {
    return this.members[at] as Member;
  }

  /** The member with the least to do; among equals the one that knows the voice, else the first. */
  #choose(prefixKey: string | undefined): number {
    const fewest = Math.min(...this.#active);
    const known = prefixKey === undefined ? undefined : this.#places.get(prefixKey);
    if (known !== undefined && this.#active[known] === fewest) return known;
    return this.#active.indexOf(fewest);
  }

  #remember(prefixKey: string | undefined, at: number): void {
    if (prefixKey === undefined) return;
    this.#places.delete(prefixKey);
    this.#places.set(prefixKey, at);
    const [oldest] = this.#places.keys();
    if (this.#places.size > MOST_PLACES && oldest !== undefined) this.#places.delete(oldest);
  }

  async #during<T>(at: number, work: Promise<T>): Promise<T> {
    this.#active[at] = (this.#active[at] ?? 0) + 1;
    try {
      return await work;
    } finally {
      this.#active[at] = (this.#active[at] ?? 1) - 1;
    }
  }
}

/** Least lead among the members that have listeners. */
function least(all: readonly EngineStats[]): number {
  const leads = all.filter(({ live }) => live > 0).map(({ leadMsMin }) => leadMsMin);
  return leads.length === 0 ? 0 : Math.min(...leads);
}
