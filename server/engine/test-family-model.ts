/** A family's small sample with random weights, loaded into a real engine on the processor in fp32, for tests. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "../models/registry.ts";
import { sampleFolder } from "../models/test-families.ts";
import type { Model, SegmentRequest } from "../models/types.ts";
import { Engine } from "./engine.ts";
import type { EngineStream } from "./stream.ts";
import type { GenerateOptions, LoadOptions } from "./types.ts";

const TOOL = join(import.meta.dirname, "../../native/build/sonant_model");

/** What a stream delivered: all samples in a row, all codes, the frames of each chunk. */
export interface Spoken {
  readonly pcm: Float32Array;
  readonly codes: readonly number[];
  readonly chunks: readonly number[];
}

/**
 * The family's sample with weights; the caller removes it. The language model goes on until it is cut, so that lengths
 * are known.
 */
export function randomFolder(family: string): string {
  const folder = sampleFolder(family);
  for (const part of ["lm", "codec"]) {
    const options = ["--dtype", "f32", ...(part === "lm" ? ["--talkative"] : [])];
    execFileSync(TOOL, ["random", join(folder, part), join(folder, part), ...options], {
      stdio: ["ignore", "ignore", "pipe"],
    });
  }
  return folder;
}

export class FamilyModel {
  readonly model: Model;
  readonly engine: Engine;
  readonly #folder: string;

  private constructor(folder: string, model: Model, engine: Engine) {
    this.#folder = folder;
    this.model = model;
    this.engine = engine;
  }

  static async load(family: string, limits: LoadOptions["limits"] = {}): Promise<FamilyModel> {
    const folder = randomFolder(family);
    const engine = await Engine.load({
      lmFolder: join(folder, "lm"),
      codecFolder: join(folder, "codec"),
      device: "cpu",
      precision: "fp32",
      threads: 1,
      limits,
    });
    return new FamilyModel(folder, await loadModel(folder), engine);
  }

  /** What the engine is asked for when a segment is spoken. */
  options(request: SegmentRequest, seed = 0): GenerateOptions {
    const { rowWidth: _, ...plan } = this.model.planSegment(request);
    const { audioRepetitionPenalty, ...sampling } = this.model.sampling;
    return {
      ...plan,
      sampling: { ...sampling, repetitionPenalty: audioRepetitionPenalty, seed },
      wantCodes: true,
    };
  }

  speak(options: GenerateOptions): Promise<Spoken> {
    return readSpoken(this.engine.generate(options));
  }

  async close(): Promise<void> {
    await this.engine.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function readSpoken(stream: EngineStream): Promise<Spoken> {
  const pcm: number[] = [];
  const codes: number[] = [];
  const chunks: number[] = [];
  for await (const chunk of stream) {
    pcm.push(...chunk.pcm);
    codes.push(...(chunk.codes ?? []));
    chunks.push(chunk.frames);
  }
  return { pcm: Float32Array.from(pcm), codes, chunks };
}
