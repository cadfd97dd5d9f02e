/**
 * The models of a server at run time: finds them by name, loads them when they are asked for, and unloads the one that was
 * unused for longest where no more may be in memory. One change is made at a time, so that two requests for two models
 * never take each other's room. A model that fails harms no other.
 */
import { setImmediate as turn } from "node:timers/promises";
import { type Config, configFor } from "../config/config.ts";
import { ApiError } from "../protocol/envelope.ts";
import { isAlias } from "../protocol/formats.ts";
import { checkModel } from "../protocol/speech-rules.ts";
import type { SpeechService } from "../speech/types.ts";
import { untilAborted } from "../voices/reference-cache.ts";
import { HouseModel, type HouseParts } from "./model.ts";
import type { Hold, Models, ServedModel } from "./types.ts";

/** What a client is told to wait for a model that is being loaded, in seconds. */
const RETRY_AFTER_S = 2;
/** A model that failed is not tried again for each request, but after this time. */
const RETRY_MS = 10_000;

export class HouseModels implements Models {
  readonly all: readonly HouseModel[];
  readonly first: HouseModel;
  readonly #config: Config;
  readonly #parts: HouseParts;
  readonly #loading = new Map<HouseModel, Promise<void>>();
  readonly #watchers = new Set<() => void>();
  #changes: Promise<void> = Promise.resolve();
  #uses = 0;
  #isStarted = false;
  #isDraining = false;

  constructor(config: Config, parts: HouseParts) {
    this.#config = config;
    const openVoices: HouseParts["openVoices"] = async (...of) => {
      const voices = await parts.openVoices(...of);
      voices.onChange(() => {
        for (const watcher of this.#watchers) watcher();
      });
      return voices;
    };
    this.#parts = { ...parts, openVoices };
    const others = config.models.others.map((own) => configFor(config, own));
    this.first = new HouseModel(config, true, this.#parts);
    this.all = [this.first, ...others.map((own) => new HouseModel(own, false, this.#parts))];
  }

  /**
   * Reads the folders of all models, weights excepted. One that cannot be read is left for later.
   * @throws ModelError, TokenizerError if there is only one and it cannot be read
   */
  async read(): Promise<void> {
    const results = await Promise.allSettled(this.all.map((model) => model.read()));
    for (const [index, result] of results.entries()) {
      if (result.status === "fulfilled") continue;
      if (this.all.length === 1) throw result.reason;
      this.#logFailure(this.all[index], result.reason);
    }
  }

  /**
   * Loads the models that are to be there from the start, one after the other.
   * @throws what the first one failed with, if no model can be used
   */
  async start(): Promise<void> {
    const { load } = this.#config.models;
    const atStart = load === "at_start" ? this.all : [this.first];
    let failure: unknown;
    for (const model of atStart) {
      try {
        await this.#loadInTurn(model);
      } catch (error) {
        failure ??= error;
      }
    }
    this.#isStarted = true;
    if (this.all.every(({ state }) => state.stage === "failed")) throw failure;
  }

  get state(): SpeechService["state"] {
    if (this.#isDraining) return { stage: "draining" };
    const states = this.all.map(({ state }) => state);
    const isUsable = this.all.some((model) => this.#isUsable(model));
    if (isUsable) return { stage: "ready" };
    const telling = states.find(({ stage }) => stage === "loading" || stage === "warming");
    const { stage, reason } = telling ?? this.first.state;
    const shown = stage === "unloaded" ? "loading" : stage;
    return reason === undefined ? { stage: shown } : { stage: shown, reason };
  }

  /** Whether a request for it would be served, at once or after it has been loaded. */
  #isUsable(model: HouseModel): boolean {
    const { stage } = model.state;
    if (stage === "ready") return true;
    return (
      this.#isStarted && (stage === "unloaded" || stage === "draining" || this.#loading.has(model))
    );
  }

  get load(): SpeechService["load"] {
    const loads = this.all.map(({ load }) => load);
    const sum = (key: keyof SpeechService["load"]) =>
      loads.reduce((total, load) => total + load[key], 0);
    return {
      active: sum("active"),
      waiting: sum("waiting"),
      capacity: sum("capacity"),
      expectedWaitMs: Math.max(...loads.map(({ expectedWaitMs }) => expectedWaitMs)),
    };
  }

  named(name: string | undefined): HouseModel {
    if (name === undefined) return this.first;
    const found =
      this.all.find(({ config }) => config.servedModelNames.includes(name)) ??
      this.all.find(({ config }) => isAlias(name, config.openaiAliases));
    checkModel(name, () => found !== undefined);
    return found as HouseModel;
  }

  async hold(name: string | undefined, signal: AbortSignal): Promise<Hold> {
    const model = this.named(name);
    this.#uses += 1;
    model.usedAt = this.#uses;
    // What is loaded with the server is refused while it is not ready, so that others are asked; what is loaded for a
    // request is waited for.
    while (!model.isThere || (this.#isStarted && this.#loading.has(model))) {
      this.#refuseRetry(model);
      await this.#waitFor(model, signal);
    }
    return model.hold();
  }

  async loadNow(name: string, signal: AbortSignal): Promise<ServedModel> {
    const model = this.named(name);
    this.#uses += 1;
    model.usedAt = this.#uses;
    if (!model.isThere || this.#loading.has(model)) await this.#waitFor(model, signal);
    return model;
  }

  async unload(name: string, signal: AbortSignal): Promise<ServedModel> {
    const model = this.named(name);
    // It may speak for long, and others that need no room of it are not to wait for that.
    const unloaded = (async () => {
      await this.#loading.get(model)?.catch(() => {});
      await model.unload();
    })();
    await untilAborted(unloaded, signal);
    this.#parts.log("info", `${model.id} was unloaded.`);
    return model;
  }

  onVoices(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** No new sessions of any model; resolves when the open ones have ended or the limit is reached. */
  async drain(limitMs: number): Promise<void> {
    this.#isDraining = true;
    await Promise.all(this.all.map(({ service }) => service?.drain(limitMs)));
  }

  async close(): Promise<void> {
    this.#isDraining = true;
    await Promise.all(this.all.map((model) => model.close()));
    await this.#changes;
  }

  #refuseRetry(model: HouseModel): void {
    const { failedAtMs } = model;
    if (failedAtMs === undefined || this.#loading.has(model)) return;
    const leftMs = failedAtMs + RETRY_MS - performance.now();
    if (leftMs <= 0) return;
    const { code, message } = model.failure;
    throw new ApiError(code, message, { retryAfterSeconds: Math.ceil(leftMs / 1000) });
  }

  /** Waits until a model has been loaded; whoever gives up leaves the loading to the others. */
  async #waitFor(model: HouseModel, signal: AbortSignal): Promise<void> {
    if (this.#isDraining) throw new ApiError("shutting_down");
    const { maxQueue, maxQueueWaitMs } = model.config.engine;
    const details = { retryAfterSeconds: RETRY_AFTER_S };
    // The first of them has it loaded, and so many may wait behind.
    if (model.waiting > maxQueue) throw new ApiError("overloaded", undefined, details);
    const giveUp = new AbortController();
    const message = `The model \`${model.id}\` is being loaded, which takes longer than a request may wait.`;
    const timer = setTimeout(
      () => giveUp.abort(new ApiError("warming_up", message, details)),
      maxQueueWaitMs,
    );
    model.waiting += 1;
    try {
      await untilAborted(this.#loadInTurn(model), AbortSignal.any([signal, giveUp.signal]));
    } catch (error) {
      throw signal.aborted || error instanceof ApiError ? error : model.failure;
    } finally {
      clearTimeout(timer);
      model.waiting -= 1;
    }
  }

  /** Loads a model when its turn has come; all who ask meanwhile share the one loading. */
  #loadInTurn(model: HouseModel): Promise<void> {
    const known = this.#loading.get(model);
    if (known !== undefined) return known;
    const loading = this.#inTurn(() => this.#load(model)).finally(() =>
      this.#loading.delete(model),
    );
    this.#loading.set(model, loading);
    return loading;
  }

  async #load(model: HouseModel): Promise<void> {
    if (this.#isDraining) throw new ApiError("shutting_down");
    if (model.isThere) return;
    await model.unload();
    await this.#makeRoom();
    try {
      await model.start();
    } catch (error) {
      this.#logFailure(model, error);
      throw error;
    }
  }

  /** The whole reason, which clients are not told. */
  #logFailure(model: HouseModel | undefined, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#parts.log("error", `The model ${model?.id} could not be loaded: ${reason}`);
  }

  async #makeRoom(): Promise<void> {
    const { maxLoaded } = this.#config.models;
    for (;;) {
      const loaded = this.all.filter(({ isLoaded }) => isLoaded);
      const [longest] = loaded.sort((a, b) => order(a) - order(b) || a.usedAt - b.usedAt);
      if (longest === undefined || maxLoaded === 0 || loaded.length < maxLoaded) return;
      this.#parts.log("info", `${longest.id} makes room for another model.`);
      await longest.unload();
    }
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const made = this.#changes.then(change);
    // Those who waited for this change take hold of the model before the next one can take it away.
    this.#changes = made.catch(() => {}).then(() => turn());
    return made;
  }
}

/** Who makes room first: those that are being unloaded anyhow, then those that are used least. */
function order(model: HouseModel): number {
  return model.isThere ? 1 + model.usage : 0;
}
