/**
 * The servers that the shared cases ask for: personalities of the shipped model behind the real service, and a fake
 * service where a case needs an engine that fails or speaks forever. The one place that knows what the names of servers,
 * faults and options mean.
 */
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import { oneModel } from "../house/test-models.ts";
import type { FamilyAbilities } from "../house/types.ts";
import { Metrics } from "../metrics/metrics.ts";
import { ApiError } from "../protocol/envelope.ts";
import { SERVED_MODEL, type WireCase } from "../protocol/test-cases.ts";
import { SonantSpeechService } from "../speech/service.ts";
import { Starter } from "../speech/test-starter.ts";
import type { SpeechService } from "../speech/types.ts";
import { openVoiceLibrary } from "../voices/open-library.ts";
import { Access } from "./access.ts";
import type { HttpDeps } from "./deps.ts";
import { createHttpServer } from "./server.ts";
import { testConfig } from "./test-server.ts";
import { FakeSpeech, type Fate } from "./test-speech.ts";

type Model = SpeechService["model"];

interface Personality {
  readonly presets: readonly string[];
  readonly sampleRate: number;
  readonly abilities: FamilyAbilities;
  readonly openaiMap?: Config["voices"]["openaiMap"];
}

const LANGUAGES = ["Auto", "Chinese", "English"];
const QWEN = { label: "Qwen3-TTS", languages: LANGUAGES };

const PERSONALITIES: Readonly<Record<string, Personality>> = {
  nano: { presets: [], sampleRate: 48_000, abilities: { label: "MOSS-TTS-Nano" } },
  nano_x: {
    presets: ["junhao"],
    sampleRate: 48_000,
    abilities: { label: "MOSS-TTS-Nano" },
    openaiMap: { alloy: "junhao", nova: "junhao" },
  },
  presets: {
    presets: ["vivian", "ryan"],
    sampleRate: 24_000,
    abilities: { ...QWEN, tasks: ["CustomVoice"] },
  },
  base: {
    presets: [],
    sampleRate: 24_000,
    abilities: { ...QWEN, tasks: ["Base"], embeddingDim: 1024 },
  },
};

const FATES: Readonly<Record<string, Fate>> = {
  before_first_chunk: { failAt: 0 },
  "after_chunks:2": { failAt: 2 },
  no_audio: { chunks: 0 },
  queue_full: { refusal: "overloaded" },
  fast_engine: { chunks: 13 },
};

/** Cases whose text would take minutes, or that need a speech without end. */
const FATES_BY_CASE: Readonly<Record<string, Fate>> = {
  nano_long_text_segmented: { chunks: 900, units: 9 },
  disconnect_aborts_request: { chunks: Number.POSITIVE_INFINITY },
};

interface CaseOptions {
  readonly fault?: string;
  readonly limits?: Partial<Config["limits"]>;
  readonly api_key?: string;
  readonly allow_host?: string;
}

/** The shipped model under the names and with the rate of a personality. */
function modelOf(model: Model, { presets, sampleRate }: Personality): Model {
  const [voice] = model.presets.values();
  if (voice === undefined) throw new Error("the shipped model has no voices");
  const voices = new Map(presets.map((name) => [name, { ...voice, name }]));
  const { family, folder, description, tokenizer, sampling, limits, capabilities } = model;
  return {
    ...{ family, folder, description, tokenizer, sampling, limits, capabilities },
    name: "cases",
    presets: voices,
    defaultVoice: presets[0],
    audio: { ...model.audio, sampleRate },
    countTokens: (text) => model.countTokens(text),
    voice: (name) => {
      const codes = voices.get(name ?? "")?.codes;
      return codes === undefined ? { kind: "none" } : { kind: "clone", codes };
    },
    planSegment: (request) => model.planSegment(request),
  };
}

export interface CaseServer {
  readonly url: string;
  /** Set where the case asked for an engine that fails or never ends. */
  readonly fake: FakeSpeech | undefined;
  readonly service: SpeechService;
  close(): Promise<void>;
}

export class CaseHouse {
  private constructor(
    private readonly starter: Starter,
    private readonly service: SonantSpeechService,
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {}

  static async open(): Promise<CaseHouse> {
    const starter = await Starter.load({ threads: 2 });
    const shipped = await testConfig();
    const config = { ...shipped, servedModelNames: [SERVED_MODEL] };
    const { sampleRate } = starter.model.audio;
    const metrics = new Metrics();
    const service = new SonantSpeechService({
      model: starter.model,
      config,
      metrics: metrics.forModel({ names: config.servedModelNames, sampleRate }),
      loadEngine: async () => starter.engine,
    });
    await service.start();
    return new CaseHouse(starter, service, metrics, config);
  }

  /** Generations that the engine holds. */
  get engineLive(): number {
    const { live, waiting } = this.starter.engine.stats();
    return live + waiting;
  }

  /** @param trustedHost "host:port" of the server of clips, for cases that may fetch from it */
  async serve(wireCase: WireCase, trustedHost: string): Promise<CaseServer> {
    const personality = PERSONALITIES[wireCase.server ?? ""];
    if (personality === undefined) throw new Error(`no such server: ${wireCase.server}`);
    const options = (wireCase.options ?? {}) as CaseOptions;
    const model = modelOf(this.starter.model, personality);
    const fake = fakeFor(wireCase.name, options, model);
    const folder = await mkdtemp(join(tmpdir(), "sonant-case-"));
    const config = this.configFor(options, personality);
    const voices = await openVoiceLibrary({
      model,
      engine: this.starter.engine,
      store: folder,
      limits: config.limits,
      fetch: options.allow_host === undefined ? {} : { trustedHosts: [trustedHost] },
    });
    const service = fake ?? this.behind(model, options);
    const app = createHttpServer({
      config,
      models: oneModel({ config, service, voices, abilities: personality.abilities }),
      metrics: this.metrics,
      access: new Access(config.server),
      build: { version: "0", commit: undefined },
    } satisfies HttpDeps);
    return { url: await listening(app), fake, service, close: () => closed(app, folder) };
  }

  async close(): Promise<void> {
    await this.service.close();
    this.metrics.close();
  }

  private configFor(options: CaseOptions, { openaiMap = {} }: Personality): Config {
    const { limits, voices, server } = this.config;
    return {
      ...this.config,
      limits: { ...limits, ...options.limits },
      voices: { ...voices, openaiMap },
      server: { ...server, apiKeys: options.api_key === undefined ? [] : [options.api_key] },
    };
  }

  /** The real service under another name and, if asked for, in another state. */
  private behind(model: Model, { fault }: CaseOptions): SpeechService {
    const { service } = this;
    return {
      model,
      open: (request) => service.open(request),
      get state() {
        return fault === "warming_up" ? { stage: "warming" as const } : service.state;
      },
      get load() {
        return service.load;
      },
      drain: (limitMs) => service.drain(limitMs),
      close: () => service.close(),
    };
  }
}

function fakeFor(name: string, { fault }: CaseOptions, model: Model): FakeSpeech | undefined {
  if (fault === "engine_dead") {
    return new FakeSpeech(model, { failAt: 0, failure: new ApiError("engine_dead") });
  }
  const fate = FATES_BY_CASE[name] ?? FATES[fault ?? ""];
  return fate && new FakeSpeech(model, fate);
}

async function listening(app: FastifyInstance): Promise<string> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

async function closed(app: FastifyInstance, folder: string): Promise<void> {
  app.server.closeAllConnections();
  await app.close();
  await rm(folder, { recursive: true, force: true });
}
