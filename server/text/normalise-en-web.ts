/**
 * English readings of what is written for machines: addresses, handles, file names, versions, paths.
 * They are spelled the way people say them aloud, before any rule about numbers or marks can take them
 * apart.
 */
import { cardinal, digitsInWords } from "./normalise-en-numbers.ts";
import { spellLetters } from "./normalise-en-words.ts";

const TOP_LEVEL =
  "com|org|net|edu|gov|io|ai|dev|app|co|uk|de|fr|it|es|eu|us|ca|au|jp|cn|in|info|biz|me|tv|ch|nl|se|no|pl|ru|br|example|test|local";
const SPELLED_TOP_LEVEL = new Set([
  "io",
  "ai",
  "uk",
  "de",
  "fr",
  "eu",
  "us",
  "tv",
  "ch",
  "nl",
  "pl",
  "jp",
  "cn",
  "ca",
  "au",
]);

/** Endings that say "this is a file", as people say them. Those without a reading are spelled. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  txt: "text",
  json: "jason",
  doc: "doc",
  docx: "doc x",
  zip: "zip",
  bin: "bin",
  conf: "conf",
  env: "env",
  lock: "lock",
  log: "log",
  map: "map",
  toml: "toml",
  wav: "wav",
  bat: "bat",
  ini: "ini",
  yaml: "yaml",
  java: "java",
  swift: "swift",
  lua: "lua",
  jpeg: "jay peg",
  gif: "gif",
  exe: "exe",
  tar: "tar",
};
const SPELLED_EXTENSIONS =
  "pdf|html?|css|csv|tsv|js|jsx|mjs|cjs|ts|tsx|py|rb|rs|go|md|xml|yml|png|jpg|svg|mp3|mp4|ogg|flac|webm|webp|cpp|cc|hpp|h|sh|sql|php|xlsx?|pptx?|gz|dll|iso|apk|dmg|ipynb|safetensors";
const FILE_EXTENSION = `(?:${Object.keys(EXTENSIONS).join("|")}|${SPELLED_EXTENSIONS})`;

const sayExtension = (extension: string): string =>
  EXTENSIONS[extension.toLowerCase()] ??
  (extension.length > 5 ? extension : spellLetters(extension));

/** Words of a machine-made name: "myFile_2-final" gives "my File 2 final". */
function sayName(name: string): string {
  return name
    .replace(/%[0-9a-f]{2}/gi, " ")
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replace(/(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu, " ")
    .replace(/[-_+~=&?#%]+/g, " ")
    .trim();
}

function sayHost(host: string): string {
  const labels = host.replace(/^www\./i, "").split(".");
  return labels
    .map((label, i) => {
      if (/^\d+$/.test(label)) return cardinal(label);
      const last = i === labels.length - 1 && i > 0;
      return last && SPELLED_TOP_LEVEL.has(label.toLowerCase())
        ? spellLetters(label)
        : sayName(label);
    })
    .join(" dot ");
}

/** Path of a URL or a file: each part after "slash", a file's ending after "dot". */
function sayPath(path: string): string {
  return path
    .split("/")
    .filter((part) => part !== "")
    .map((part) => ` slash ${sayFile(part)}`)
    .join("");
}

function sayFile(name: string): string {
  const match = new RegExp(`^(.*?)\\.(${FILE_EXTENSION})$`, "i").exec(name);
  if (match === null) return name.split(".").map(sayName).filter(Boolean).join(" dot ");
  const [, stem, extension] = match as unknown as [string, string, string];
  return `${stem === "" ? "" : `${sayFile(stem)} `}dot ${sayExtension(extension)}`;
}

/** Query and fragment are noise to a listener and are left out. */
function sayUrl(host: string, rest: string): string {
  const path = rest.replace(/^:\d+/, "").replace(/[?#].*$/, "");
  return `${sayHost(host)}${sayPath(path)}`;
}

const sayVersion = (digits: string): string =>
  digits
    .split(".")
    .map((part) => (part.length > 1 && part.startsWith("0") ? digitsInWords(part) : cardinal(part)))
    .join(" point ");

const END = "(?![\\p{L}\\p{N}])";

/** Reads addresses, names and versions. */
export function sayMachineNames(text: string): string {
  return (
    text
      .replace(
        /(?<![\p{L}\p{N}.])[\p{L}\p{N}][\p{L}\p{N}._%+-]*@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu,
        (address) => {
          const [user, host] = address.split("@") as [string, string];
          return `${user.split(".").map(sayName).join(" dot ")} at ${sayHost(host)}`;
        },
      )
      .replace(
        /\b(?:https?|ftp|wss?):\/\/([\p{L}\p{N}.-]+[\p{L}\p{N}])((?::\d+)?(?:[/?#][^\s<>"']*[^\s<>"'.,;:!?)\]])?\/?)/giu,
        (_url, host: string, rest: string) => sayUrl(host, rest),
      )
      .replace(
        new RegExp(
          `(?<![\\p{L}\\p{N}@/.])((?:[\\p{L}\\p{N}-]+\\.)+(?:${TOP_LEVEL}))((?:/[^\\s<>"']*[^\\s<>"'.,;:!?)\\]])?/?)${END}(?!\\.[\\p{L}])`,
          "gu",
        ),
        (match, host: string, rest: string) =>
          /^\p{Lu}\p{Ll}+\.\p{Lu}?/u.test(host) &&
          rest === "" &&
          !/\.(?:com|org|net|io|ai|dev)$/i.test(host)
            ? match
            : sayUrl(host, rest),
      )
      // C++, C#, .NET and their like.
      .replace(/\b([CF])#(?!\w)/g, "$1 sharp")
      .replace(/\b([A-Za-z])\+\+(?!\w)/g, "$1 plus plus")
      // @handle and #hashtag
      .replace(
        /(?<![\p{L}\p{N}])@([\p{L}\p{N}][\p{L}\p{N}_.-]*[\p{L}\p{N}]|\p{L})/gu,
        (_m, name: string) => `at ${sayName(name.replace(/\./g, " dot "))}`,
      )
      .replace(
        /(?<![\p{L}\p{N}&])#(\p{L}[\p{L}\p{N}_-]*)/gu,
        (_m, name: string) => `hashtag ${sayName(name)}`,
      )
      // Paths and files
      .replace(
        /(?<![\p{L}\p{N}/:.<])(~)?((?:\/[\p{L}\p{N}_.-]+){2,}\/?)/gu,
        (_m, home: string | undefined, path: string) =>
          `${home === undefined ? "" : "home"}${sayPath(path)} `,
      )
      .replace(
        /(?<![\p{L}\p{N}/])([A-Z]):\\([\p{L}\p{N}_.\\-]+)/gu,
        (_m, drive: string, path: string) => `${drive} drive${sayPath(path.replace(/\\/g, "/"))}`,
      )
      .replace(
        new RegExp(
          `(?<![\\p{L}\\p{N}./])((?:[\\p{L}\\p{N}_-]+[./])*[\\p{L}\\p{N}_-]*\\.${FILE_EXTENSION})${END}`,
          "giu",
        ),
        (name: string) =>
          /^[\d.]+[a-z]?$/i.test(name) ? name : name.split("/").map(sayFile).join(" slash "),
      )
      .replace(/(?<=^|\s)\.(?=[a-zA-Z]{2,}\b)/g, "dot ")
      // v2.3.1, version 2.3, 192.168.0.1
      .replace(
        /\b[vV](?:er)?\.? ?(\d+(?:\.\d+)+)(?![\p{L}\d])/gu,
        (_m, digits: string) => `version ${sayVersion(digits)}`,
      )
      .replace(/\b[vV](\d+)\b(?!\.\d)/g, (_m, digits: string) => `version ${cardinal(digits)}`)
      .replace(/(?<![\d.,])(\d{1,3}(?:\.\d{1,3}){3})(?![.\d])/g, (_m, address: string) =>
        address
          .split(".")
          .map((part) => cardinal(part))
          .join(" dot "),
      )
      .replace(/(?<![\d.,$€£¥])(\d+(?:\.\d+){2,})(?![.\d])/g, (_m, digits: string) =>
        sayVersion(digits),
      )
      .replace(
        /\b([Vv]ersion|[Rr]elease) (\d+(?:\.\d+)+)(?![\p{L}\d])/gu,
        (_m, word: string, digits: string) => `${word} ${sayVersion(digits)}`,
      )
  );
}
