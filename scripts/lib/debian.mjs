/** Installs Debian packages that the tests use, where this process may; otherwise says what is missing. */
import { runOrFail } from "./process.mjs";
import { missingTools, which } from "./tools.mjs";

/**
 * Installs the packages of the tools that are missing, when run as root on a Debian system.
 * @param {import("./tools.mjs").Tool[]} tools
 * @param {(text: string) => void} say
 * @returns {Promise<import("./tools.mjs").Tool[]>} the tools that are still missing
 */
export async function ensureDebian(tools, say) {
  const missing = missingTools(tools);
  if (missing.length === 0) return [];
  const packages = missing.flatMap((tool) => tool.debian.split(" "));
  if (process.getuid?.() === 0 && which("apt-get")) {
    say(`Installing ${packages.join(", ")} (apt-get) …`);
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const wait = ["-o", "DPkg::Lock::Timeout=300"];
    try {
      await runOrFail("apt-get update", "apt-get", [...wait, "update"], { env, tail: 10 });
      await runOrFail(
        "apt-get install",
        "apt-get",
        [...wait, "install", "-y", "--no-install-recommends", ...packages],
        { env, tail: 10 },
      );
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }
  const left = missingTools(tools);
  if (left.length > 0) {
    const names = left.map((tool) => tool.name).join(", ");
    const wanted = left.map((tool) => tool.debian).join(" ");
    say(`Missing for some tests: ${names} (Debian: apt-get install ${wanted}).`);
  }
  return left;
}
