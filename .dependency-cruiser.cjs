/**
 * The shape of the code base (docs/architecture.md) as rules. `test/architecture/boundaries.test.ts` proves of each one
 * that it fires.
 */

const server = "^packages/server/src/";
/** Tests, and what only they use, may reach for anything. */
const tests = "\\.test\\.tsx?$|^packages/[^/]+/src/testing/|^test/";

/** @param {string} name an npm package, whether it is installed or not */
const npmPackage = (name) => `(^|/)node_modules/(@types/)?${name}/|^${name}$`;

/** Each layer may import the layers before it, never those after it. */
const layers = [
  "packages/embedded-postgres",
  "packages/addresses",
  "packages/contract",
  "packages/agent-protocol",
  "packages/policy",
  "packages/server",
  "packages/cli",
  "bench",
  "packaging",
];

const downward = layers.slice(0, -1).map((layer, index) => ({
  name: `downward-from-${layer.replace("packages/", "")}`,
  comment:
    "Imports go downward only: embedded-postgres, addresses, contract, agent-protocol, policy, server, cli, bench, packaging.",
  severity: "error",
  from: { path: `^${layer}/` },
  to: { path: `^(${layers.slice(index + 1).join("|")})/` },
}));

/** The folders of the console. Each may import the folders before it, never those after it. */
const consoleFolders = ["messages", "app", "records", "lists", "pages"];

const consoleDownward = consoleFolders.slice(0, -1).map((folder, index) => ({
  name: `console-downward-from-${folder}`,
  comment: `The folders of the console form layers: ${consoleFolders.join(", ")}. main.tsx joins them.`,
  severity: "error",
  from: { path: `^packages/console/src/${folder}/` },
  to: { path: `^packages/console/src/(${consoleFolders.slice(index + 1).join("|")})/` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...downward,
    {
      name: "client-stands-alone",
      comment: "Whoever takes the client gets no more than two small libraries with it: nothing else of ours.",
      severity: "error",
      from: { path: "^packages/client/src/", pathNot: tests },
      to: {
        path: ["^(packages|bench)/", "node_modules/"],
        pathNot: ["^packages/client/src/", npmPackage("openapi-fetch"), npmPackage("@streamparser/json")],
      },
    },
    {
      name: "client-runs-in-browsers",
      comment: "What Node alone has is not there in a page.",
      severity: "error",
      from: { path: "^packages/client/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "server-knows-no-client",
      comment: "The client follows from what the server does, never the other way round.",
      severity: "error",
      from: { path: "^packages/(contract|agent-protocol|policy|server)/src/", pathNot: tests },
      to: { path: "^packages/client/" },
    },
    {
      name: "agents-share-the-core",
      comment:
        "Agents run on their own machines. They use the core, the protocol and addresses; neither imports the other.",
      severity: "error",
      from: { path: "^packages/(agent-core|gateway|device)/src/", pathNot: tests },
      to: { path: "^(packages|bench)/", pathNot: "^packages/($1|addresses|contract|agent-protocol|agent-core)/" },
    },
    {
      name: "only-agents-use-the-core",
      comment: "The server and the agents share the protocol, and nothing else.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, "^packages/(agent-core|gateway|device)/src/"] },
      to: { path: "^packages/(agent-core|gateway)/" },
    },
    {
      name: "only-the-command-line-knows-the-device",
      comment: "It is a program of its own, which `gatehouse device` starts.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, "^packages/(device|cli)/src/"] },
      to: { path: "^packages/device/" },
    },
    {
      name: "console-is-a-client",
      comment:
        "It has no privileges: of ours it takes the client, and of the contract the words for permissions and events, the presets of providers, the changes that cannot be reverted and the snippets that deploy a gateway.",
      severity: "error",
      from: { path: "^packages/console/src/", pathNot: tests },
      to: {
        path: "^(packages|bench)/",
        pathNot: [
          "^packages/console/",
          "^packages/client/src/",
          "^packages/contract/src/(permissions|event-types|deployment-snippets|records/(provider-presets|irrevertible))\\.ts$",
        ],
      },
    },
    {
      name: "console-runs-in-browsers",
      comment: "What Node alone has is not there in a page.",
      severity: "error",
      from: { path: "^packages/console/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "nothing-needs-the-console",
      comment: "The server sends what was built, and knows nothing of what is in it.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: "^packages/console/" },
      to: { path: "^packages/console/" },
    },
    {
      name: "pages-stand-apart",
      comment:
        "A page is a folder; what two of them share belongs to records, lists or app. Words for a kind of record may be shared. The first steps on the overview consist of the forms of other pages.",
      severity: "error",
      from: { path: "^packages/console/src/pages/([^/]+)/", pathNot: "^packages/console/src/pages/overview/steps/" },
      to: { path: "^packages/console/src/pages/", pathNot: ["^packages/console/src/pages/$1/", "/format-[^/]+\\.ts$"] },
    },
    ...consoleDownward,
    {
      name: "no-cycles",
      comment: "Modules that need each other are one module, or lack a third.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "pure-packages",
      comment: "No clock and no I/O: these packages take what they need as arguments.",
      severity: "error",
      from: { path: "^packages/(addresses|contract|agent-protocol|policy)/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "addresses-need-nothing",
      comment: "Every package may use addresses.",
      severity: "error",
      from: { path: "^packages/addresses/src/", pathNot: tests },
      to: { path: ["^(packages|bench)/", "node_modules/"], pathNot: "^packages/addresses/" },
    },
    {
      name: "contract-is-data",
      comment: "The API and the agents' protocol are schemas and pure functions over them.",
      severity: "error",
      from: { path: "^packages/(contract|agent-protocol)/src/", pathNot: tests },
      to: { path: "node_modules/", pathNot: npmPackage("typebox") },
    },
    {
      name: "database-only-in-queries",
      comment: "The driver is platform/db's; SQL is written in *.queries.ts.",
      severity: "error",
      from: { path: "^(packages|bench)/", pathNot: [tests, `${server}platform/db/`, "\\.queries\\.ts$", "^bench/"] },
      to: { path: npmPackage("pg") },
    },
    {
      name: "fastify-only-in-http",
      comment: "Everything else is the same under another server. compose.ts holds the app, and may name its type.",
      severity: "error",
      from: { pathNot: [tests, `${server}http/`, `${server}compose\\.ts$`, "^bench/"] },
      to: { path: npmPackage("fastify") },
    },
    {
      name: "compose-names-fastify-as-a-type",
      comment: "Making the app is http's.",
      severity: "error",
      from: { path: `${server}compose\\.ts$` },
      to: { path: npmPackage("fastify"), dependencyTypesNot: ["type-only"] },
    },
    {
      name: "features-through-their-api",
      comment: "A feature reaches another through its <noun>.api.ts alone.",
      severity: "error",
      from: { path: `${server}features/([^/]+)/`, pathNot: tests },
      to: { path: `${server}features/`, pathNot: [`${server}features/$1/`, "\\.api\\.ts$"] },
    },
    {
      name: "others-use-features-through-their-api",
      comment: "Only routes.ts, which puts them together, knows their routes.",
      severity: "error",
      from: { path: "^packages/", pathNot: [tests, `${server}features/`, `${server}routes\\.ts$`] },
      to: { path: `${server}features/`, pathNot: "\\.api\\.ts$" },
    },
    {
      name: "platform-knows-no-feature",
      comment: "What everything stands on depends on nothing that stands on it.",
      severity: "error",
      from: { path: `${server}platform/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}platform/`, tests] },
    },
    {
      name: "agent-channel-knows-no-agent-kind",
      comment:
        "The channel, device sources and tunnels serve gateways and devices alike: they import neither, and no feature.",
      severity: "error",
      from: { path: `${server}agents/(channel|sources|tunnels)/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}platform/`, `${server}agents/(channel|sources|tunnels)/`, tests] },
    },
    {
      name: "agent-kinds-stand-apart",
      comment: "Code that gateways and devices share belongs to agents/channel, agents/sources or agents/tunnels.",
      severity: "error",
      from: { path: `${server}agents/(gateways|devices)/`, pathNot: tests },
      to: { path: `${server}agents/(gateways|devices)/`, pathNot: `${server}agents/$1/` },
    },
    {
      name: "http-knows-no-feature",
      comment: "Features reach it as routes.",
      severity: "error",
      from: { path: `${server}http/`, pathNot: tests },
      to: { path: server, pathNot: [`${server}(platform|http)/`, tests] },
    },
    {
      name: "features-know-http-as-routes",
      comment: "Commands and queries do not know that they are called over HTTP; routes.ts of a feature binds them.",
      severity: "error",
      from: { path: `${server}features/`, pathNot: [tests, "\\.routes\\.ts$"] },
      to: { path: `${server}http/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "tests-stay-outside",
      comment: "Nothing that ships depends on a test.",
      severity: "error",
      from: { pathNot: tests },
      to: { path: tests },
    },
    {
      name: "resolvable",
      comment:
        "An import that leads nowhere also escapes every rule above. What a command runs may not have been built yet.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^\\.\\./dist/[a-z-]+\\.js$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // What was built. Packages under node_modules keep theirs: rules have to see them.
    exclude: { path: "^(packages/[^/]+|bench|packaging)/dist/" },
    tsConfig: { fileName: "tsconfig.base.json" },
    // Imports of types count: they are dependencies of what one has to know.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["gatehouse-source", "import", "node", "types", "default"],
      extensions: [".ts", ".tsx", ".css", ".svg", ".mjs", ".js", ".d.ts"],
    },
  },
};
