/**
 * Compares what a case has seen with what it expects, key by key. A key that nothing here knows is a finding, so that no
 * expectation is passed over in silence.
 */
import type { Wanted } from "./case-file.ts";
import { Findings, wrong } from "./check.ts";
import { AUDIO_CHECKS } from "./expect-audio.ts";
import { REPLY_CHECKS } from "./expect-replies.ts";
import { SERVER_CHECKS } from "./expect-server.ts";
import { SOCKET_CHECKS } from "./expect-sockets.ts";
import type { Checks } from "./expectation.ts";
import { OWN_EXPECTATIONS, UNSEEN } from "./mapping.ts";
import type { World } from "./world.ts";

const CHECKS: Checks = { ...REPLY_CHECKS, ...AUDIO_CHECKS, ...SOCKET_CHECKS, ...SERVER_CHECKS };

/** Members that say something about others, or are for people. */
const REMARKS: readonly string[] = ["say", "note", "or", "of", "decoder", "tolerance"];

/** Everything that is not as the case expects it. */
export async function compare(world: World): Promise<Findings> {
  const findings = new Findings();
  const wanted = ownExpectations(world, findings);
  for (const reply of world.answered()) {
    if (reply.failure !== undefined) {
      findings.problems.push(`${reply.request.slice(0, 80)} broke off: ${reply.failure}`);
    }
  }
  for (const [section, members] of Object.entries(wanted)) {
    if (REMARKS.includes(section)) continue;
    if (UNSEEN[section] !== undefined) findings.note(`${section} not checked: ${UNSEEN[section]}`);
    else if (isTable(members)) await compareSection(world, section, members, findings);
    else await compareMember(world, section, section, { [section]: members }, findings);
  }
  await findings.look(() => stillServes(world));
  return findings;
}

function isTable(value: unknown): value is Wanted {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function compareSection(world: World, section: string, members: Wanted, findings: Findings) {
  for (const member of Object.keys(members)) {
    if (!REMARKS.includes(member)) await compareMember(world, section, member, members, findings);
  }
}

async function compareMember(
  world: World,
  section: string,
  member: string,
  members: Wanted,
  findings: Findings,
): Promise<void> {
  const unseen = UNSEEN[`${section}.${member}`];
  if (unseen !== undefined) {
    findings.note(`${section}.${member} not checked: ${unseen}`);
    return;
  }
  const checks = CHECKS[section];
  const wanted = members[member] as never;
  const check = typeof checks === "function" ? undefined : checks?.[member];
  if (typeof checks === "function") await findings.look(() => checks(world, member, wanted));
  else if (check !== undefined) await findings.look(() => check(world, wanted, members));
  else findings.problems.push(`nothing checks the expectation ${section}.${member}`);
}

/** The case's expectations with what our documentation replaces. */
function ownExpectations({ wanted }: World, findings: Findings): Wanted {
  const own = OWN_EXPECTATIONS[wanted.id];
  if (own === undefined) return wanted.expect;
  const { why, ...sections } = own;
  findings.note(why);
  const merged = Object.entries(sections).map(([section, members]) => [
    section,
    { ...(wanted.expect[section] as object | undefined), ...(members as object) },
  ]);
  return { ...wanted.expect, ...Object.fromEntries(merged) };
}

/** Whatever a case did, the server must go on, unless the case itself ended it. */
async function stillServes({ target, ended }: World): Promise<void> {
  if (ended !== undefined) return;
  const { process } = target;
  if (process?.exit !== undefined) {
    wrong(`the server ended with ${process.exit.code ?? process.exit.signal}`);
  }
  if (!(await target.isHealthy())) wrong("the server is not healthy any more");
}
