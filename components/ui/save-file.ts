/** Hands a file that the page made to the visitor, as a download. */

/** The address is given back a while later, when every browser has taken the file. */
const KEPT_MS = 10_000;

export function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
