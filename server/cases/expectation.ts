/**
 * How expectations are checked: a file of cases writes them as sections with members, and every section or member has a
 * function here that throws what it finds.
 */
import type { Wanted } from "./case-file.ts";
import type { World } from "./world.ts";

/** Checks one member of a section, such as `max_s` of `audio`. @throws Mismatch */
export type Check = (world: World, wanted: never, section: Wanted) => void | Promise<void>;

/** Checks any member of a section whose members are names that the case chose. @throws Mismatch */
export type SectionCheck = (world: World, member: string, wanted: never) => void | Promise<void>;

/** Checks by section. */
export type Checks = Readonly<Record<string, Readonly<Record<string, Check>> | SectionCheck>>;
