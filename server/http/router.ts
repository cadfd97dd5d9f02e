/** The router's own answers: 404 for unknown paths, 405 with the allowed methods for known ones. */
import type { FastifyInstance } from "fastify";

/** Remembers every route that is added after this call. */
export function addRouterAnswers(app: FastifyInstance): void {
  const methods = new Map<string, Set<string>>();

  app.addHook("onRoute", ({ method, path }) => {
    if (path === "/*") return;
    const known = methods.get(path) ?? new Set();
    for (const name of [method].flat()) known.add(name);
    methods.set(path, known);
  });

  const allowed = (path: string) => {
    const segments = path.split("/");
    const found = [...methods].find(([pattern]) => matches(pattern.split("/"), segments));
    return found === undefined ? undefined : [...found[1]].sort().join(", ");
  };

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0]?.replace(/(?<=.)\/$/, "") ?? "";
    const allow = allowed(path);
    if (allow === undefined) return reply.code(404).send({ detail: "Not Found" });
    return reply.code(405).header("allow", allow).send({ detail: "Method Not Allowed" });
  });
}

/** Plain segments have to be equal; a parameter takes any that is not empty, and a star all that follow. */
function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "*";
  if (isOpen ? pattern.length > segments.length : pattern.length !== segments.length) return false;
  return pattern.every((part, index) => {
    const segment = segments[index] ?? "";
    return part === "*" || part.startsWith(":") ? segment !== "" : part === segment;
  });
}
