/**
 * Which network addresses the server may contact on behalf of a stranger. Pure; the lists follow the special-purpose
 * registries for IPv4 and IPv6. What is not known to be public is refused.
 */
import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * `public`: anyone may be sent there. `private`: inside a network, allowed if the operator says so. `forbidden`: never
 * the place of a recording (link-local with its metadata services, multicast, reserved, tunnels that hide another address).
 */
export type AddressKind = "public" | "private" | "forbidden";

const PRIVATE = blockList(
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["::1", 128],
  ["fc00::", 7],
);

const FORBIDDEN = blockList(
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Teredo, ORCHID and other protocol assignments; documentation; 6to4.
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
);

/** Everything else in IPv6 is unassigned, local, multicast or NAT64. */
const GLOBAL_V6 = blockList(["2000::", 3]);

function blockList(...subnets: ReadonlyArray<readonly [string, number]>): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) {
    list.addSubnet(net, prefix, isIPv4(net) ? "ipv4" : "ipv6");
  }
  return list;
}

/** Judges an IP address in text form. Text that is no address is `forbidden`. */
export function addressKind(address: string): AddressKind {
  const version = isIP(address);
  if (version === 4) return listed(address, "ipv4") ?? "public";
  if (version !== 6 || address.includes("%")) return "forbidden";
  const mapped = mappedIPv4(address);
  if (mapped !== undefined) return addressKind(mapped);
  return listed(address, "ipv6") ?? (GLOBAL_V6.check(address, "ipv6") ? "public" : "forbidden");
}

function listed(address: string, family: "ipv4" | "ipv6"): AddressKind | undefined {
  if (FORBIDDEN.check(address, family)) return "forbidden";
  return PRIVATE.check(address, family) ? "private" : undefined;
}

/** The IPv4 address inside ::ffff:0:0/96, in whatever way it is spelled. */
function mappedIPv4(address: string): string | undefined {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const words = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)?.slice(1);
  if (words === undefined) return undefined;
  return words
    .map((word) => Number.parseInt(word, 16))
    .flatMap((word) => [word >> 8, word & 255])
    .join(".");
}
