/**
 * HTTP as fetching a model needs it: redirects that are followed by hand, a token that never leaves its own host, proxies as
 * the environment names them, and limits on everything. Knows nothing of repositories.
 */
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { Body } from "./body.ts";
import { HubError, PassingError } from "./errors.ts";

export interface ClientOptions {
  /** The only address that gets `headers`; also where pages of listings have to lie. */
  readonly endpoint: URL;
  /** Credentials of the endpoint. */
  readonly headers: Readonly<Record<string, string>>;
  /** What to do about answers 401 and 403, as half a sentence. */
  readonly advice: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Milliseconds without an answer, or without a byte of one, after which a connection counts as lost. */
  readonly silenceMs?: number;
}

export interface Answer {
  readonly status: number;
  /** Of the last host; names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Of the endpoint itself, before any redirect. */
  readonly ownHeaders: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
}

const CONNECT_MS = 15_000;
const SILENCE_MS = 30_000;
const MOST_REDIRECTS = 5;
const MOST_JSON_BYTES = 16 * 1024 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]);
const PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];

export class HubClient {
  readonly #options: ClientOptions;
  readonly #dispatcher: Dispatcher;

  constructor(options: ClientOptions) {
    this.#options = options;
    const silence = options.silenceMs ?? SILENCE_MS;
    const agent = {
      connect: { timeout: CONNECT_MS },
      headersTimeout: silence,
      bodyTimeout: silence,
    };
    this.#dispatcher = dispatcherFor(options.environment, agent);
  }

  get endpoint(): URL {
    return this.#options.endpoint;
  }

  /** The endpoint, for paths to be put behind it: without a slash at the end. */
  get base(): string {
    return this.endpoint.href.replace(/\/+$/, "");
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  /**
   * Asks for an address. Answers 2xx and 416 come back; the caller reads or destroys the body.
   * @throws PassingError, or HubError `access_refused`, `not_found` or `answer_invalid`
   */
  async get(
    address: string,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    let url = new URL(address);
    let ownHeaders: Answer["ownHeaders"] = {};
    for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
      const answer = await this.#ask(url, headers, signal);
      if (url.origin === this.endpoint.origin) ownHeaders = { ...ownHeaders, ...answer.headers };
      if (!REDIRECTS.has(answer.status)) {
        if (answer.status >= 400 && answer.status !== 416) throw this.#refusal(url, answer);
        return { ...answer, ownHeaders };
      }
      answer.body.destroy();
      url = redirectTarget(url, answer.headers.location);
    }
    throw invalid(url, `redirects more than ${MOST_REDIRECTS} times`);
  }

  /** A JSON document with the headers it came with. @throws as `get` does */
  async json(
    address: string,
    signal?: AbortSignal,
  ): Promise<{ readonly value: unknown; readonly headers: Answer["headers"] }> {
    const answer = await this.get(address, { accept: "application/json" }, signal);
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of answer.body) {
        bytes += piece.length;
        if (bytes > MOST_JSON_BYTES) throw invalid(new URL(address), "sends a listing without end");
        pieces.push(piece);
      }
    } catch (error) {
      throw asPassing(error, new URL(address), signal);
    }
    try {
      return { value: JSON.parse(Buffer.concat(pieces).toString("utf8")), headers: answer.headers };
    } catch {
      throw invalid(new URL(address), "did not answer with JSON");
    }
  }

  async #ask(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Omit<Answer, "ownHeaders">> {
    const own = url.origin === this.endpoint.origin ? this.#options.headers : {};
    try {
      const answer = await request(url, {
        dispatcher: this.#dispatcher,
        headers: {
          "user-agent": "sonant",
          // Bytes are counted and asked for by position, so they have to come as they are.
          "accept-encoding": "identity",
          ...headers,
          ...own,
        },
        ...(signal === undefined ? {} : { signal }),
      });
      const body = new Body(answer.body);
      return { status: answer.statusCode, headers: single(answer.headers), body };
    } catch (error) {
      throw asPassing(error, url, signal);
    }
  }

  #refusal(url: URL, { status, headers, body }: Omit<Answer, "ownHeaders">): Error {
    body.destroy();
    const what = `${url.host} answered ${status} for ${url.pathname}`;
    if (PASSING.has(status)) return new PassingError(what, retryAfterMs(headers["retry-after"]));
    if (status === 401 || status === 403) {
      return new HubError("access_refused", `${what}; ${this.#options.advice}`);
    }
    if (status === 404 || status === 410) return new HubError("not_found", what);
    return new HubError("answer_invalid", what);
  }
}

/** EnvHttpProxyAgent reads the process's variables where it is not told, so it is told all of them. */
function dispatcherFor(
  environment: ClientOptions["environment"],
  agent: Agent.Options,
): Dispatcher {
  if (!PROXY_VARIABLES.some((name) => environment[name])) return new Agent(agent);
  const httpProxy = environment.http_proxy ?? environment.HTTP_PROXY ?? "";
  return new EnvHttpProxyAgent({
    ...agent,
    httpProxy,
    httpsProxy: environment.https_proxy ?? environment.HTTPS_PROXY ?? httpProxy,
    noProxy: environment.no_proxy ?? environment.NO_PROXY ?? "",
  });
}

function redirectTarget(from: URL, location: string | undefined): URL {
  if (location === undefined || !URL.canParse(location, from.href)) {
    throw invalid(from, "redirects to nowhere");
  }
  const to = new URL(location, from.href);
  if (to.protocol !== "https:" && to.protocol !== "http:") {
    throw invalid(from, `redirects to the scheme ${to.protocol}`);
  }
  if (from.protocol === "https:" && to.protocol !== "https:") {
    throw invalid(from, "redirects from https to http");
  }
  return to;
}

/** A broken connection as something that passes; our own errors and an abort stay what they are. */
export function asPassing(error: unknown, url: URL, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof HubError || error instanceof PassingError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code?.startsWith("UND_ERR") ? message.toLowerCase() : (code ?? message);
  return new PassingError(`the connection to ${url.host} failed (${reason})`, undefined, {
    cause: error,
  });
}

function invalid(url: URL, what: string): HubError {
  return new HubError("answer_invalid", `${url.host} ${what}`);
}

function single(headers: Record<string, string | string[] | undefined>): Answer["headers"] {
  const entries = Object.entries(headers);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}

/** Seconds or a date, as milliseconds from now. */
function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
