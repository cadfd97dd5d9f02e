/**
 * Words whose full stop need not end a sentence, sorted by what has to follow for it to end one.
 * Used by the boundary rules alone; how abbreviations are spoken is the normaliser's business.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** A name or a continuation always follows: the stop never ends a sentence. */
export const NEVER_FINAL = words(
  `mr mrs ms mx dr prof rev hon gen col maj capt cpt cmdr lt sgt cpl adm gov sen rep pres supt
   messrs mme mlle e.g i.e eg ie cf vs viz al approx ca hr fr frl hrn bzw z.b d.h u.a sog inkl ggf vgl
   p.ej sr sra srta sres dra ud uds dott sig sigg ing avv geb`,
);

/** A number may follow, and then the stop ends nothing ("No. 5"); otherwise it does ("No. I will not."). */
export const BEFORE_NUMBER = words(
  "no nos nr fig figs p pp vol ch sec art eq ex para par ref tel c s v n §",
);

/**
 * Often last in a sentence. Before a small letter or a digit the stop ends nothing; before a capital it
 * does.
 */
export const MAYBE_FINAL = words(
  `etc a.m p.m am pm usw ff min max sq est dept tab temp misc hrs mins secs`,
);

/** Part of names, so a capital after it proves nothing: only a typical first word of a sentence does. */
export const IN_NAMES = words(
  `st mt ft inc ltd co corp llc plc bros jr sr esq ave blvd rd ln hwy jan feb mar apr jun jul aug sep sept oct nov
   dec mon tue tues wed thu thur thurs fri sat sun ph.d m.d b.a m.a d.c u.s u.k u.n e.u u.s.a`,
);

/** Typical first words of a sentence; none of them is a usual part of a name. */
export const SENTENCE_STARTERS = words(
  `the a an this that these those he she it we you they i there here his her its our their my your in on at
   by for from to with without and but or so yet nor if when while after before because although though
   since as then thus therefore however moreover what who whom whose which where why how is are was were do
   does did has have had can could will would should may might must let please no yes not now next first
   second finally also another each every some many most all both one two three today tomorrow yesterday`,
);

/** Month names that follow a day number with a stop ("3. Oktober"). */
export const MONTHS_AFTER_DAY = words(
  `januar jänner februar märz april mai juni juli august september oktober november dezember`,
);

/** German words before an ordinal number ("der 2. Weltkrieg", "im 19. Jahrhundert"). */
export const BEFORE_ORDINAL = words(
  "der die das den dem des am im vom zum zur beim ein eine einen einem eines jeder jede jedes",
);
