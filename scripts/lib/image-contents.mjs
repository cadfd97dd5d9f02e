/** What a container image of the server holds: paths of this repository, as its own files and packages say it. */
import { relative } from "node:path";
import { packageFolders, trace } from "./closure.mjs";
import { ROOT } from "./root.mjs";

/** The server, and the command that makes, quantises and inspects checkpoints. */
const ENTRIES = ["server/main.ts", "server/cli/model.ts"];
/** Loads the TypeScript, and is named by no import. */
const LOADER = "tsx";
/** Next expects them beside itself, as peers. */
const PEERS_OF_PAGES = ["react", "react-dom"];
/** Compiles pages, and resizes pictures for those who let Next do so: 118 MB that a running server does not open. */
const NOT_FOR_RUNNING = /^node_modules\/(@next\/swc-|@img\/|sharp(\/|$))/;
const FILES = [
  ...["package.json", "tsconfig.json", "next.config.js", "LICENSE", "NOTICE", "public"],
  ...["deploy/starter.yaml", "deploy/moss-tts-nano.yaml"],
  ...["native/models/starter", "native/shapes"],
];
const BUILT = [".next", "native/build/sonant.node", "native/build/sonant_model"];
const BUILT_IF_ANY = ["native/build/libsonant_cuda.so"];

/**
 * Paths relative to the root: `files` of the checkout, what has to be and what may be `built`, and folders of packages.
 * @returns {{ files: string[], built: string[], builtIfAny: string[], packages: string[] }}
 */
export function imageContents() {
  const { files, packages } = trace(ENTRIES);
  const folders = packageFolders([...packages, LOADER, ...PEERS_OF_PAGES]);
  return {
    files: [...files, ...FILES],
    built: BUILT,
    builtIfAny: BUILT_IF_ANY,
    packages: [...folders]
      .map((folder) => relative(ROOT, folder))
      .filter((path) => !NOT_FOR_RUNNING.test(path)),
  };
}
