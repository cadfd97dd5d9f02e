/**
 * Fetches a recording from an address that a stranger gave. Every hop is checked before a connection is opened, names
 * are resolved once and the connection is pinned to the addresses that were checked. Time and bytes are bounded, and
 * whatever goes wrong reads the same to the client: nothing about the network inside is told.
 */
import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { ApiError } from "../protocol/envelope.ts";
import { addressKind } from "./address-rules.ts";
import { untilAborted } from "./reference-cache.ts";

export interface FetchPolicy {
  /** Whether hosts in private networks and on this machine may be contacted. */
  readonly allowPrivate: boolean;
  /** If not empty: the only host names that may be contacted, in lower case. */
  readonly allowedDomains: readonly string[];
  /** Ports beside 80 and 443. */
  readonly extraPorts: readonly number[];
  /** "host:port" pairs that are contacted whatever their address and port are. */
  readonly trustedHosts: readonly string[];
  readonly maxRedirects: number;
  readonly maxBytes: number;
  readonly connectTimeoutMs: number;
  /** For everything together, redirects included. */
  readonly totalTimeoutMs: number;
}

export const FETCH_POLICY: FetchPolicy = {
  allowPrivate: false,
  allowedDomains: [],
  extraPorts: [],
  trustedHosts: [],
  maxRedirects: 3,
  maxBytes: 25 * 1024 * 1024,
  connectTimeoutMs: 3000,
  totalTimeoutMs: 10_000,
};

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

type Answer = { readonly bytes: Uint8Array } | { readonly location: string };

const UNREACHABLE =
  "ref_audio could not be fetched: the URL must lead to an audio file that is public and not too large";
const DEFAULT_PORTS: Record<string, number> = { "http:": 80, "https:": 443 };
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const TYPES =
  /^(audio\/[\w.+-]+|video\/(mp4|webm)|application\/(ogg|octet-stream)|binary\/octet-stream)$/;

const resolveAll: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * Fetches the content of an http or https address.
 * @throws ApiError `reference_unreachable` with one text for every reason (the reason is its `cause`), or the signal's
 * reason
 */
export async function fetchGuarded(
  address: string,
  policy: FetchPolicy,
  signal?: AbortSignal,
  resolve: Resolve = resolveAll,
): Promise<Uint8Array> {
  const total = AbortSignal.timeout(policy.totalTimeoutMs);
  const deadline = signal === undefined ? total : AbortSignal.any([total, signal]);
  try {
    let url = checkUrl(address, policy);
    for (let hops = 0; hops <= policy.maxRedirects; hops++) {
      const addresses = await checkedAddresses(url, policy, deadline, resolve);
      const answer = await ask(url, addresses, policy, deadline);
      if ("bytes" in answer) return answer.bytes;
      url = redirectTarget(url, answer.location, policy);
    }
    throw new Error(`more than ${policy.maxRedirects} redirects`);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ApiError("reference_unreachable", UNREACHABLE, { param: "ref_audio", cause });
  }
}

/**
 * Checks everything about an address that can be judged by its text.
 * @throws Error for the log
 */
export function checkUrl(address: string, policy: FetchPolicy): URL {
  const url = new URL(address);
  const standardPort = DEFAULT_PORTS[url.protocol];
  if (standardPort === undefined) throw new Error(`scheme ${url.protocol} is not allowed`);
  if (url.username !== "" || url.password !== "") throw new Error("credentials are not allowed");
  const port = Number(url.port || standardPort);
  if (isTrusted(url, policy)) return url;
  if (port !== 80 && port !== 443 && !policy.extraPorts.includes(port)) {
    throw new Error(`port ${port} is not allowed`);
  }
  const host = url.hostname.replace(/\.$/, "");
  if (policy.allowedDomains.length > 0 && !policy.allowedDomains.includes(host)) {
    throw new Error(`host ${host} is not among the allowed domains`);
  }
  return url;
}

/** Where a redirect leads, checked like a first address; never from https to http. */
export function redirectTarget(from: URL, location: string, policy: FetchPolicy): URL {
  const url = checkUrl(new URL(location, from).href, policy);
  if (from.protocol === "https:" && url.protocol !== "https:") {
    throw new Error("a redirect from https to http is not allowed");
  }
  return url;
}

function isTrusted(url: URL, policy: FetchPolicy): boolean {
  const port = url.port || DEFAULT_PORTS[url.protocol];
  return policy.trustedHosts.includes(`${url.hostname}:${port}`);
}

/** The addresses of a host, all of them allowed: one that is not condemns the others. */
async function checkedAddresses(
  url: URL,
  policy: FetchPolicy,
  signal: AbortSignal,
  resolve: Resolve,
): Promise<readonly Address[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  const addresses =
    family === 0 ? await untilAborted(resolve(host), signal) : [{ address: host, family }];
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  if (isTrusted(url, policy)) return addresses;
  for (const { address } of addresses) {
    const kind = addressKind(address);
    if (kind === "public" || (kind === "private" && policy.allowPrivate)) continue;
    throw new Error(`${host} leads to ${address}, which is ${kind}`);
  }
  return addresses;
}

/** A lookup that knows the answer, so that the name is not resolved a second time. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

/** One request on a connection of its own. */
function ask(
  url: URL,
  addresses: readonly Address[],
  policy: FetchPolicy,
  signal: AbortSignal,
): Promise<Answer> {
  const secure = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? requestHttps : requestHttp)(url, {
      agent: false,
      lookup: pinned(addresses),
      signal,
      headers: {
        accept: "audio/*, application/ogg, application/octet-stream",
        "accept-encoding": "identity",
        "user-agent": "Sonant",
      },
    });
    const connecting = setTimeout(() => {
      outgoing.destroy(new Error("the connection was not made in time"));
    }, policy.connectTimeoutMs);
    outgoing.on("socket", (socket) => {
      socket.once(secure ? "secureConnect" : "connect", () => clearTimeout(connecting));
    });
    outgoing.on("response", (response) => {
      readAnswer(response, policy.maxBytes)
        .then(resolve, reject)
        .finally(() => outgoing.destroy());
    });
    outgoing.on("error", reject);
    outgoing.on("close", () => {
      clearTimeout(connecting);
      // Without effect unless the connection ended before there was an answer.
      reject(new Error("the connection was closed"));
    });
    outgoing.end();
  });
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const { statusCode = 0, headers } = response;
  if (REDIRECTS.has(statusCode) && headers.location !== undefined) {
    return { location: headers.location };
  }
  if (statusCode !== 200) throw new Error(`status ${statusCode}`);
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "" && !TYPES.test(type)) throw new Error(`content type ${type} is not audio`);
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new Error(`content encoding ${encoding} was not asked for`);
  const tooLarge = () => new Error(`more than ${maxBytes} bytes`);
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) throw tooLarge();
    parts.push(part);
  }
  return { bytes: Buffer.concat(parts, length) };
}
