/**
 * The load generator's door: a namespace of the pages' socket.io. Starts one run at a time, in processes beside the server,
 * and tells those who are connected how it is getting on. What is asked of the server goes through its doors like any
 * other request.
 */
import { randomBytes } from "node:crypto";
import type { Server as HttpServer, IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Namespace, Server, Socket } from "socket.io";
import { validate } from "../protocol/envelope.ts";
import { StressPlan } from "../protocol/stress.ts";
import { STRESS_NAMESPACE, STRESS_OWNER_GRACE_MS } from "../protocol/stress-bounds.ts";
import type { StressReport } from "../protocol/stress-report.ts";
import {
  type PageToStress,
  STRESS_EVENTS,
  type StressHello,
  type StressRefusal,
  type StressStarted,
  type StressToPage,
} from "../protocol/stress-socket.ts";
import { speechError } from "../speech/errors.ts";
import { type CrewRunOptions, startCrewStress } from "../stress/node/run.ts";
import { longestOf } from "../stress/shape.ts";
import type { StressRun } from "../stress/types.ts";
import type { RealtimeDeps } from "./deps.ts";
import { waitingPackets } from "./page-packets.ts";
import { OwnFigures } from "./stress-figures.ts";
import { checkPlan, maxProcesses } from "./stress-plan.ts";

/** Header by which the server knows the load that it makes itself. */
const OWN_LOAD_HEADER = "x-sonant-load";
/** What a run takes beside its load at most, in seconds: the start of its processes, the probe, the last answers. */
const BESIDE_SECONDS = 60;
/** Packets of sound that may wait for a listener before more are dropped. */
const MAX_WAITING = 64;

type Pages = Namespace<PageToStress, StressToPage>;
type Page = Socket<PageToStress, StressToPage>;
type Answer = (info: unknown) => void;

interface Running extends StressStarted {
  readonly run: StressRun;
  readonly endsBy: string;
  owner: Page | undefined;
  /** Ends the run of an owner who is gone. */
  orphaned: NodeJS.Timeout | undefined;
  isListening: boolean;
}

/** A refusal in the words of the door itself. */
class Refused extends Error {
  constructor(readonly refusal: StressRefusal) {
    super(refusal.message);
  }
}

const refused = (code: string, message: string, hint: string, retryable = false) =>
  new Refused({ code, message, hint, retryable });

export interface StressDoorOptions {
  /** For tests. */
  readonly start?: (options: CrewRunOptions) => Promise<StressRun>;
  readonly ownerGraceMs?: number;
}

export class StressDoor {
  readonly #deps: RealtimeDeps;
  readonly #server: HttpServer;
  readonly #pages: Pages;
  readonly #start: NonNullable<StressDoorOptions["start"]>;
  readonly #graceMs: number;
  readonly #figures: OwnFigures;
  /** Known to the processes of this server's runs and to nobody else. */
  readonly #token = randomBytes(16).toString("hex");
  #running: Running | undefined;
  /** A run is being started. */
  #isStarting = false;
  #isClosed = false;
  #last: { readonly started: StressStarted; readonly report: StressReport } | undefined;

  /** @param admit looks at who connects, as for other pages */
  constructor(
    io: Server,
    server: HttpServer,
    deps: RealtimeDeps,
    admit: Parameters<Server["use"]>[0],
    { start = startCrewStress, ownerGraceMs = STRESS_OWNER_GRACE_MS }: StressDoorOptions = {},
  ) {
    this.#deps = deps;
    this.#server = server;
    this.#start = start;
    this.#graceMs = ownerGraceMs;
    this.#figures = new OwnFigures(deps.models);
    this.#pages = io.of(STRESS_NAMESPACE) as unknown as Pages;
    this.#pages.use(admit as Parameters<Pages["use"]>[0]);
    this.#pages.on("connection", (page) => this.#welcome(page));
  }

  /** Whether a request comes from a run of this server: limits on one client are not meant for it. */
  isOwnLoad({ headers }: IncomingMessage): boolean {
    return headers[OWN_LOAD_HEADER] === this.#token;
  }

  /** Ends the run that is on; its processes are gone afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    running?.run.stop("The server was shut down.");
    await running?.run.report;
    this.#pages.local.disconnectSockets();
    this.#pages.adapter.close();
  }

  #welcome(page: Page): void {
    page.emit("hello", this.#hello());
    const on = (name: keyof PageToStress, handle: (event: unknown) => unknown) => {
      const listener = async (event: unknown, answer: unknown) => {
        const reply = typeof answer === "function" ? (answer as Answer) : () => {};
        try {
          reply((await handle(event)) ?? null);
        } catch (error) {
          reply(refusalOf(error));
        }
      };
      page.on(name, listener as never);
    };
    on("start", (plan) => this.#begin(page, plan));
    on("attach", (event) => this.#attach(page, validate(STRESS_EVENTS.attach, event).id));
    on("stop", (event) => this.#owned(page, validate(STRESS_EVENTS.stop, event).id).run.stop());
    on("listen", (event) => {
      const { lane } = validate(STRESS_EVENTS.listen, event);
      const running = this.#owned(page);
      running.isListening = lane !== null;
      running.run.listen(lane);
    });
    page.on("disconnect", () => this.#left(page));
  }

  // ---- one run

  async #begin(page: Page, raw: unknown): Promise<StressStarted> {
    const { stress } = this.#deps.config;
    if (!stress.enabled) {
      throw refused(
        "stress_disabled",
        "This server makes no load itself.",
        "Let the browser make it, run npm run stress from another machine, or set stress.enabled in the deploy file.",
      );
    }
    if (!this.#deps.access.needsKey && !isOwnPage(page.request)) {
      throw refused(
        "stress_forbidden",
        "Pages of other sites may not start a load test here.",
        "Open the stress page of this server itself, or give the server API keys.",
      );
    }
    if (this.#running !== undefined || this.#isStarting || this.#isClosed) throw this.#busy();
    const plan = validate(StressPlan, raw);
    checkPlan(plan, stress);
    this.#isStarting = true;
    try {
      const key = page.handshake.auth.key as unknown;
      const run = await this.#start({
        plan,
        kind: "server",
        baseUrl: addressOf(this.#server),
        apiKey: apiKeyOf(page.request, key),
        headers: { [OWN_LOAD_HEADER]: this.#token },
        maxStreams: stress.maxStreams,
        lowPriority: true,
        serverFigures: () => this.#figures.read(),
        onTick: (tick) => {
          if (this.#running !== undefined) {
            this.#pages.local.emit("tick", this.#running.id, tick);
          }
        },
        onSound: (info, pcm) => {
          const { owner, isListening } = this.#running ?? {};
          if (owner === undefined || !isListening || waitingPackets(owner) > MAX_WAITING) return;
          owner.emit("pcm", info, pcm);
        },
      });
      return this.#follow(page, run, longestOf(plan));
    } finally {
      this.#isStarting = false;
    }
  }

  #follow(page: Page, run: StressRun, seconds: number): StressStarted {
    const now = Date.now();
    const started = { id: run.id, startedAt: new Date(now).toISOString() };
    const running: Running = {
      ...started,
      run,
      endsBy: new Date(now + (seconds + BESIDE_SECONDS) * 1000).toISOString(),
      owner: page,
      orphaned: undefined,
      isListening: false,
    };
    this.#running = running;
    this.#deps.logger?.info({ run: run.id }, "load test started");
    void run.report.then((report) => {
      clearTimeout(running.orphaned);
      this.#running = undefined;
      this.#last = { started, report };
      this.#deps.logger?.info({ run: run.id, end: report.end.kind }, "load test ended");
      this.#pages.local.emit("done", run.id, report);
      this.#pages.local.emit("hello", this.#hello());
    });
    if (!page.connected) this.#left(page);
    if (this.#isClosed) run.stop("The server was shut down.");
    this.#pages.local.emit("hello", this.#hello());
    return started;
  }

  /** A run of a connection that was lost, on a new one; its report comes again if it has ended meanwhile. */
  #attach(page: Page, id: string): StressStarted {
    const running = this.#running;
    if (running?.id === id && (running.owner === undefined || running.owner === page)) {
      clearTimeout(running.orphaned);
      running.owner = page;
      return { id, startedAt: running.startedAt };
    }
    if (this.#last?.started.id !== id) throw unknownRun();
    page.emit("done", id, this.#last.report);
    return this.#last.started;
  }

  #left(page: Page): void {
    const running = this.#running;
    if (running === undefined || running.owner !== page) return;
    running.owner = undefined;
    running.isListening = false;
    running.run.listen(null);
    const seconds = Math.round(this.#graceMs / 1000);
    const reason = `The page that had started the run was gone for ${seconds} s.`;
    running.orphaned = setTimeout(() => running.run.stop(reason), this.#graceMs);
    running.orphaned.unref();
  }

  #owned(page: Page, id = this.#running?.id): Running {
    const running = this.#running;
    if (running === undefined || running.id !== id || running.owner !== page) throw unknownRun();
    return running;
  }

  #hello(): StressHello {
    const { enabled, maxStreams, maxSeconds } = this.#deps.config.stress;
    const running = this.#running;
    return {
      enabled,
      maxStreams,
      maxSeconds,
      maxProcesses: maxProcesses(),
      running:
        running === undefined
          ? null
          : { id: running.id, startedAt: running.startedAt, endsBy: running.endsBy },
    };
  }

  #busy(): Refused {
    const { endsBy } = this.#running ?? {};
    const when = endsBy === undefined ? "is about to begin" : `ends by ${endsBy} at the latest`;
    return refused(
      "stress_busy",
      `Another load test is on; it ${when}.`,
      "Wait until it has ended, then start yours.",
      true,
    );
  }
}

function unknownRun(): Refused {
  return refused(
    "stress_unknown",
    "There is no such load test, or it belongs to another page.",
    "Start one; only the page that has started it can stop it or listen to it.",
  );
}

function refusalOf(error: unknown): StressRefusal {
  if (error instanceof Refused) return error.refusal;
  const { code, message, entry } = speechError(error);
  return { code, message, hint: entry.next, retryable: entry.retryable };
}

/** Whether a page of this server asks, or a program, which sends no origin: a visitor's browser answers to any site. */
function isOwnPage({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/** The key that the page came with, for the load to come with as well. */
function apiKeyOf({ headers }: IncomingMessage, key: unknown): string | undefined {
  if (typeof key === "string" && key !== "") return key;
  return /^Bearer\s+(.+)$/i.exec(headers.authorization ?? "")?.[1];
}

/** Where this server can be reached from its own machine. */
function addressOf(server: HttpServer): string {
  const { address, port, family } = server.address() as AddressInfo;
  const isAny = address === "0.0.0.0" || address === "::";
  const host = isAny ? "127.0.0.1" : family === "IPv6" ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
