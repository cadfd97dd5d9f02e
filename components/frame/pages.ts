/** The pages of the interface, in the order of the bar; names are keys of the words for them. */
export const PAGES = [
  { href: "/", name: "playground" },
  { href: "/voices", name: "voices" },
  { href: "/stress", name: "stress" },
  { href: "/api", name: "api" },
  { href: "/status", name: "status" },
] as const;
