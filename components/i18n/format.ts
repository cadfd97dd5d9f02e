/** Fills in the marked places of a sentence. */

/** `fill("{n} of {total}", { n: 2, total: 9 })`; a mark without a value stays as it is. */
export function fill(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) =>
    name in values ? String(values[name]) : mark,
  );
}
