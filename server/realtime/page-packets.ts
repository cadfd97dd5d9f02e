/** How far a page is behind with its reading. */

/** Packets that its transport has not taken yet; the library has no other word for it. */
export function waitingPackets({ conn }: { readonly conn: unknown }): number {
  return (conn as { readonly writeBuffer: readonly unknown[] }).writeBuffer.length;
}
