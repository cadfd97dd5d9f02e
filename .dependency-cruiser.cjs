/**
 * Which room may import which: the table in ARCHITECTURE.md, as rules. A room may always import itself; npm packages
 * and Node's own modules are free except where a rule says otherwise. scripts/imports.test.ts proves that every
 * forbidden pair is refused and every allowed one accepted.
 */

/** @type {Record<string, string[]>} */
const ROOMS = {
  app: ["components"],
  components: ["server/protocol", "server/stress"],
  "server/protocol": [],
  "server/protocol/client": ["server/protocol"],
  "server/text": ["server/protocol"],
  "server/models": ["server/text", "server/protocol"],
  "server/engine": ["native", "server/models"],
  "server/speech": [
    "server/engine",
    "server/models",
    "server/text",
    "server/voices",
    "server/audio",
    "server/protocol",
  ],
  "server/audio": ["server/protocol"],
  "server/voices": ["server/audio", "server/engine", "server/models", "server/protocol"],
  "server/house": [
    "server/engine",
    "server/models",
    "server/speech",
    "server/voices",
    "server/config",
    "server/metrics",
    "server/protocol",
  ],
  "server/http": [
    "server/cluster",
    "server/house",
    "server/speech",
    "server/voices",
    "server/audio",
    "server/config",
    "server/metrics",
    "server/protocol",
  ],
  "server/realtime": [
    "server/cluster",
    "server/house",
    "server/http",
    "server/speech",
    "server/voices",
    "server/audio",
    "server/config",
    "server/metrics",
    "server/protocol",
    "server/stress",
  ],
  "server/stress": ["server/protocol"],
  "server/stress/node": ["server/stress", "server/protocol"],
  "server/cluster": ["server/protocol"],
  "server/metrics": ["server/protocol"],
  "server/config": ["server/protocol"],
  "server/cases": ["server/audio", "server/protocol"],
  native: [],
  e2e: ["server/protocol"],
  public: [],
  deploy: [],
  scripts: [],
};

/** Composition roots: they build everything, so they may import everything, and nothing imports them. */
const ROOTS = "^server/(main\\.ts$|cli/)";
const OURS = "^(app|components|server|native|e2e|public|deploy|scripts)/";
const TESTS = "\\.test\\.ts$";
/** Code that tests share. */
const TEST_HELPERS = "(^|/)test-[^/]+\\.ts$";
const CLIENT = "^server/protocol/client/";
/** The part of the load generator that needs Node. */
const STRESS = "^server/stress/";
const STRESS_NODE = "^server/stress/node/";

/** Rooms that the tests of every other room may import, with the helpers that they share. */
const FOR_TESTS = ["server/cases"];

const directions = Object.entries(ROOMS).flatMap(([room, allowed]) => {
  const name = room.replaceAll("/", "-");
  const tests = [
    `^${room}/.*\\.test\\.ts$`,
    `^${room}/test-[^/]+\\.ts$`,
    `^${room}/.*/test-[^/]+\\.ts$`,
  ];
  /** @param {string[]} rooms */
  const rule = (rooms) => ({
    comment: `${room}/ may import ${rooms.length > 0 ? rooms.join(", ") : "no other room"}.`,
    severity: "error",
    to: { path: OURS, pathNot: [room, ...rooms].map((folder) => `^${folder}/`) },
  });
  return [
    { name: `${name}-imports`, from: { path: `^${room}/`, pathNot: tests }, ...rule(allowed) },
    {
      name: `${name}-tests-import`,
      from: { path: tests },
      ...rule([...allowed, ...FOR_TESTS]),
    },
  ];
});

module.exports = {
  forbidden: [
    ...directions,
    {
      name: "unlisted-room",
      comment: "A new folder in server/ gets a line in ROOMS and in ARCHITECTURE.md first.",
      severity: "error",
      from: {
        path: "^server/",
        pathNot: [ROOTS, ...Object.keys(ROOMS).map((room) => `^${room}/`)],
      },
      to: { path: OURS },
    },
    {
      name: "components-types-only",
      comment: "The browser shares types with the server; of its code it only has the client.",
      severity: "error",
      from: { path: "^components/" },
      to: { path: "^server/protocol/", pathNot: CLIENT, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "client-is-for-clients",
      comment: "A server that needs its own client has its layers upside down.",
      severity: "error",
      from: {
        path: OURS,
        pathNot: ["^components/", "^e2e/", CLIENT, STRESS, ROOTS, TESTS, TEST_HELPERS],
      },
      to: { path: CLIENT },
    },
    {
      name: "stress-node-for-servers",
      comment: "What starts processes is no part of what runs in browsers.",
      severity: "error",
      from: { path: [STRESS, "^components/"], pathNot: [STRESS_NODE, TESTS, TEST_HELPERS] },
      to: { path: STRESS_NODE },
    },
    {
      name: "stress-runs-in-browsers",
      comment: "Web interfaces only; bundle.test.ts looks at what a browser gets.",
      severity: "error",
      from: { path: STRESS, pathNot: [STRESS_NODE, TESTS, TEST_HELPERS] },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "client-without-schemas",
      comment:
        "Schemas weigh more than the client does; bundle.test.ts looks at what a browser gets.",
      severity: "error",
      from: { path: CLIENT, pathNot: TESTS },
      to: { path: "(^|/)node_modules/" },
    },
    {
      name: "protocol-pure",
      comment: "The protocol runs in the browser and in the server: zod and nothing else.",
      severity: "error",
      from: { path: "^server/protocol/", pathNot: TESTS },
      to: { pathNot: ["^server/protocol/", "^node_modules/zod/", "/node_modules/zod/"] },
    },
    {
      name: "addon-only-in-engine",
      comment: "server/engine is the only code that touches the addon.",
      severity: "error",
      from: { pathNot: "^(server/engine|native)/" },
      to: { path: ["^native/", "\\.node$"] },
    },
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or hide a third.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "resolvable",
      comment: "An import that cannot be found escapes every other rule.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "tests-are-not-imported",
      comment: "Code that a test shares with others belongs in a file of its own.",
      severity: "error",
      from: {},
      to: { path: TESTS },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: ["^native/build", "^node_modules/\\.", "(^|/)\\.next/"] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: `${__dirname}/tsconfig.json` },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "node", "default"],
    },
  },
};
