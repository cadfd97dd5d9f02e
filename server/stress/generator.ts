/**
 * Load of one process: streams that ask, listen, and ask again, or requests that arrive by chance. Owns its sockets and
 * its sums; knows of the plan only its own part, and of limits and steps nothing but a number.
 */
import { PlaybackMeter } from "../protocol/client/index.ts";
import { CutOff } from "./cut-off.ts";
import { type Door, type LoadRequest, openDoor, type Reader } from "./doors.ts";
import { LagMeter } from "./lag.ts";
import { Lane } from "./lane.ts";
import { enterSpoken, enterUnspoken, NO_LANE, type Outcome, outcomeOf } from "./outcome.ts";
import { Probe } from "./probe.ts";
import { arrivals, randomly, requestSeed } from "./random.ts";
import { partOf } from "./shape.ts";
import type { LoadSource, WarmedUp } from "./source.ts";
import { Sums } from "./sums.ts";
import {
  MAX_TICK_LANES,
  STRESS_BOUNDS,
  type StressAccess,
  type StressClock,
  type StressPlan,
  type StressSoundInfo,
} from "./types.ts";
import type { LoadWindow } from "./window.ts";

/** Who was refused without a word on when to come back waits this long, so that refusals do not become the load. */
const AFTER_REFUSAL_MS = 100;
/** Nobody waits longer than this, whatever Retry-After says: the run is shorter than a day. */
const LONGEST_WAIT_MS = 30_000;

export interface GeneratorOptions {
  readonly plan: StressPlan;
  readonly access: StressAccess;
  readonly clock: StressClock;
  /** Which of how many processes this is. */
  readonly index: number;
  readonly processes: number;
  /** Requests under way that this plan may have, over all processes. */
  readonly maxStreams?: number | undefined;
  readonly onSound?: ((info: StressSoundInfo, pcm: Uint8Array) => void) | undefined;
  /** For tests. */
  readonly openDoor?: typeof openDoor;
}

export class LoadGenerator implements LoadSource {
  readonly #options: GeneratorOptions;
  readonly #door: Door;
  readonly #probe: Probe | undefined;
  readonly #lag: LagMeter;
  /** Cuts off what is under way. */
  readonly #end = new CutOff();
  /** Ends the waits between requests. */
  #holding = new CutOff();
  readonly #lanes: Lane[] = [];
  readonly #work = new Set<Promise<void>>();
  #steps = new Map<number, Sums>();
  #audioSeconds = 0;
  #behindMs = 0;
  #step = 0;
  /** Lanes that may begin requests: those below this number, counted in this process. */
  #wanted = 0;
  /** Requests of this process that were begun. */
  #begun = 0;
  readonly #allowed: number;
  readonly #mostLanes: number;
  #heard: number | null = null;
  #isProbing = false;

  constructor(options: GeneratorOptions) {
    const { plan, access, clock, index, processes } = options;
    this.#options = options;
    const open = options.openDoor ?? openDoor;
    this.#door = open(plan, access, plan.realTimeReaders);
    this.#allowed = partOf(plan.maxRequests, index, processes);
    const hasProbe = plan.probe && index === 0;
    this.#probe = hasProbe ? new Probe(plan, open(plan, access, false), clock) : undefined;
    const streams = options.maxStreams ?? STRESS_BOUNDS.concurrency;
    this.#mostLanes = Math.max(1, partOf(streams, index, processes));
    this.#lag = new LagMeter(clock);
  }

  async probeAlone(): Promise<string | undefined> {
    try {
      await this.#end.during(async (signal) => this.#probe?.alone(signal));
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async warmUp(requests: number): Promise<WarmedUp> {
    let spoken = 0;
    let failure: string | undefined;
    const lane = new Lane(0);
    for (let i = 0; i < requests && !this.#end.isOver; i++) {
      // Not the measured requests' seeds: a voice that is warm is what is wanted, and nothing else.
      const outcome = await this.#speak(lane, this.#request(-1 - i), undefined, new Sums());
      if (outcome.kind === "spoken") spoken += 1;
      if (outcome.kind === "failed") failure ??= outcome.message;
    }
    return { spoken, failure };
  }

  step(index: number): void {
    this.#step = index;
    if (this.#isProbing || this.#probe === undefined) return;
    this.#isProbing = true;
    const probe = this.#probe;
    this.#track(this.#end.during((signal) => probe.repeat(signal)));
  }

  want(concurrency: number): void {
    const { index, processes } = this.#options;
    this.#wanted = partOf(concurrency, index, processes);
    for (let place = 0; place < this.#wanted; place++) {
      const lane = this.#lane(place);
      if (!lane.isRunning) this.#track(this.#run(lane, place));
    }
  }

  arrive(perSecond: number, seconds: number): void {
    this.#track(this.#arrive(perSecond, seconds));
  }

  rest(): void {
    this.#wanted = 0;
    this.#holding.now();
    this.#holding = new CutOff();
  }

  abort(): void {
    this.rest();
    this.#end.now();
    this.#lag.end();
  }

  listen(lane: number | null): void {
    this.#heard = lane;
  }

  async collect(): Promise<LoadWindow> {
    const lanes = this.#lanes.filter(({ isRunning }) => isRunning);
    const now = this.#options.clock.now();
    const window: LoadWindow = {
      steps: this.#steps,
      audioSeconds: this.#audioSeconds,
      active: this.#lanes.filter(({ isAsking }) => isAsking).length,
      lanes: lanes.slice(0, MAX_TICK_LANES).map((lane) => lane.read(now)),
      lanesLeftOut: Math.max(0, lanes.length - MAX_TICK_LANES),
      lagMs: this.#lag.take(),
      behindMs: this.#behindMs,
      processes: 1,
      probe: this.#probe?.read() ?? null,
      isSpent: this.#begun >= this.#allowed,
    };
    this.#steps = new Map();
    this.#audioSeconds = 0;
    this.#behindMs = 0;
    return window;
  }

  caveats(): readonly string[] {
    return [];
  }

  async close(): Promise<void> {
    this.abort();
    await Promise.all(this.#work);
    await Promise.all([this.#door.close(), this.#probe?.close()]);
  }

  // ---- closed loop

  /** A stream that asks again as soon as it was answered, for as long as it is wanted. */
  async #run(lane: Lane, place: number): Promise<void> {
    lane.isRunning = true;
    while (place < this.#wanted && this.#mayBegin()) {
      const outcome = await this.#speak(lane, this.#next(), undefined);
      if (outcome.kind === "spoken" || outcome.kind === "stopped") continue;
      const ms = Math.min(LONGEST_WAIT_MS, outcome.retryAfterMs ?? AFTER_REFUSAL_MS);
      await this.#holding.during((signal) => this.#options.clock.wait(ms, signal));
    }
    lane.isRunning = false;
  }

  // ---- open loop

  /**
   * Requests that are begun when they are due. Who arrives knows nothing of those before him, so nobody heeds their
   * Retry-After.
   */
  async #arrive(perSecond: number, seconds: number): Promise<void> {
    const { plan, clock, index, processes } = this.#options;
    const holding = this.#holding;
    const from = clock.now();
    let number = 0;
    for (const time of arrivals(perSecond, seconds, randomly(plan.seed))) {
      if (number++ % processes !== index) continue;
      const left = from + time - clock.now();
      if (left > 0) await holding.during((signal) => clock.wait(left, signal));
      if (holding.isOver || !this.#mayBegin()) return;
      this.#behindMs = Math.max(this.#behindMs, clock.now() - from - time);
      const lane = this.#freeLane();
      if (lane === undefined) {
        this.#begun += 1;
        this.#noLane();
        continue;
      }
      lane.isRunning = true;
      const spoken = this.#speak(lane, this.#next(), from + time).then(() => {
        lane.isRunning = false;
      });
      this.#track(spoken);
    }
  }

  #freeLane(): Lane | undefined {
    const free = this.#lanes.find(({ isRunning }) => !isRunning);
    if (free !== undefined) return free;
    return this.#lanes.length < this.#mostLanes ? this.#lane(this.#lanes.length) : undefined;
  }

  /** An arrival that more requests are under way for than there may be is lost, and is said to be. */
  #noLane(): void {
    const sums = this.#sums(this.#step);
    sums.counts.begun += 1;
    const message = "More requests were under way than this generator may have.";
    enterUnspoken(sums, { kind: "failed", code: NO_LANE, message, retryAfterMs: undefined });
  }

  // ---- one request

  /** Lanes are numbered over all processes. */
  #lane(place: number): Lane {
    const { index, processes } = this.#options;
    for (let next = this.#lanes.length; next <= place; next++) {
      this.#lanes.push(new Lane(index + next * processes));
    }
    return this.#lanes[place] as Lane;
  }

  #mayBegin(): boolean {
    return this.#begun < this.#allowed && !this.#end.isOver;
  }

  /** Requests are numbered over all processes; every voice meets every text. */
  #next(): LoadRequest {
    const { index, processes } = this.#options;
    return this.#request(index + this.#begun++ * processes);
  }

  #request(number: number): LoadRequest {
    const { voices, texts, seed } = this.#options.plan;
    const place = Math.abs(number);
    const text = Math.floor(place / Math.max(1, voices.length)) % texts.items.length;
    return {
      text: texts.items[text] ?? "",
      voice: voices[place % voices.length],
      seed: requestSeed(seed, number),
    };
  }

  #sums(step: number): Sums {
    const known = this.#steps.get(step) ?? new Sums();
    this.#steps.set(step, known);
    return known;
  }

  /**
   * @param dueAt when it should have begun; without it, it is due as soon as the door is ready
   * @param own where it is counted instead of the measured sums
   */
  async #speak(
    lane: Lane,
    request: LoadRequest,
    dueAt: number | undefined,
    own?: Sums,
  ): Promise<Outcome> {
    const { clock } = this.#options;
    const step = this.#step;
    const sums = () => own ?? this.#sums(step);
    sums().counts.begun += 1;
    const meter = new PlaybackMeter({ now: clock.now });
    lane.begin(meter);
    const outcome = await this.#end.during(async (signal): Promise<Outcome> => {
      try {
        const speak = await this.#door.prepare(signal);
        meter.begin(dueAt);
        const from = clock.now();
        await speak(request, this.#reader(lane, meter, sums, own !== undefined), signal);
        meter.end();
        return enterSpoken(sums(), meter, clock.now() - from);
      } catch (error) {
        return enterUnspoken(sums(), outcomeOf(error, signal));
      }
    });
    lane.end(outcome.kind);
    return outcome;
  }

  #reader(lane: Lane, meter: PlaybackMeter, sums: () => Sums, isWarmUp: boolean): Reader {
    const { clock, plan, onSound } = this.#options;
    let lastAt: number | undefined;
    return {
      chunk: (bytes, durationMs, form) => {
        const at = clock.now();
        const isFirst = lastAt === undefined;
        if (lastAt !== undefined) sums().record("gapMs", at - lastAt);
        lastAt = at;
        meter.chunk(durationMs, at);
        lane.speak();
        sums().counts.audioSeconds += durationMs / 1000;
        if (isWarmUp) return;
        this.#audioSeconds += durationMs / 1000;
        if (lane.id === this.#heard && bytes.length > 0) {
          onSound?.({ lane: lane.id, ...form, first: isFirst }, bytes);
        }
      },
      playedMs: () => meter.read().playedMs,
      finished: async (stopped) => {
        meter.end();
        if (plan.realTimeReaders) await clock.wait(meter.read().leadMs, stopped);
      },
    };
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}
