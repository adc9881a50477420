import { Environment } from "@marcbachmann/cel-js";

/**
 * What an admission rule may name: its variables with their fields, its functions, and its limits. This page is the
 * whole language on top of CEL's operators and literals; what is not here is a problem with a position.
 */

export const RULE_LIMITS = {
  /** Of the text, in Unicode characters. */
  characters: 4096,
  /** Operators, operands and literals. */
  nodes: 2000,
  /** Brackets, calls and selections within each other. */
  nesting: 40,
  /** Operators within each other, a long chain of || included: bounds the recursion of every later pass. */
  treeDepth: 300,
  listElements: 256,
  mapEntries: 64,
  callArguments: 4,
  /** Lists of lists of lists; the library remembers every type it meets, so their number must be bounded. */
  valueNesting: 3,
  patternCharacters: 256,
  /** RE2 program instructions, of all literal patterns of a rule together. */
  patternInstructions: 2000,
  /** Estimated work of one evaluation; a unit is in the order of 20 ns. */
  cost: 200_000,
} as const;

export type FieldType = "string" | "list<string>" | "map<string, dyn>";

export interface RuleRecord {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, FieldType>;
  /** Whether names beyond the fields are attributes of any type. */
  readonly open: boolean;
}

/** The record variables of a rule, from the contract's "Admission rule text". */
export const RECORDS: ReadonlyMap<string, RuleRecord> = new Map([
  [
    "user",
    record(
      "User",
      { email: "string", firstName: "string", lastName: "string", status: "string", groups: "list<string>" },
      true,
    ),
  ],
  [
    "device",
    record("Device", {
      name: "string",
      os: "string",
      osVersion: "string",
      appVersion: "string",
      hardwareId: "string",
      posture: "map<string, dyn>",
    }),
  ],
  ["source", record("Source", { ip: "string", country: "string" })],
  ["resource", record("Resource", { name: "string", type: "string" })],
]);

/** The variable that makes a rule depend on time. */
export const TIME_VARIABLE = "now";

/** Names of types, as in `type(user.level) == int`. */
export const TYPE_NAMES: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "int",
  "list",
  "map",
  "null_type",
  "string",
  "type",
  "uint",
]);

/** Macros that bind their first argument to each element of their receiver, by how many arguments they take. */
export const COMPREHENSIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ["all", [2]],
  ["exists", [2]],
  ["exists_one", [2]],
  ["filter", [2]],
  ["map", [2, 3]],
]);

/** What a function gives, as far as the estimate of its result's size goes. */
export type ResultSize = "scalar" | "text" | "parts" | "joined" | "argument";

export const FUNCTIONS: ReadonlyMap<string, ResultSize> = new Map<string, ResultSize>([
  ["has", "scalar"],
  ["size", "scalar"],
  ["type", "scalar"],
  ["dyn", "argument"],
  ["bool", "scalar"],
  ["bytes", "text"],
  ["double", "scalar"],
  ["duration", "scalar"],
  ["int", "scalar"],
  ["string", "text"],
  ["timestamp", "scalar"],
  ["uint", "scalar"],
]);

/** Methods that read a part of a timestamp; with an argument, in that IANA time zone. */
export const TIME_PARTS: ReadonlySet<string> = new Set([
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getDayOfYear",
  "getFullYear",
  "getHours",
  "getMilliseconds",
  "getMinutes",
  "getMonth",
  "getSeconds",
]);

/** Methods that look for one text in another: their work can grow with both lengths multiplied. */
export const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split"]);

export const METHODS: ReadonlyMap<string, ResultSize> = new Map<string, ResultSize>([
  ["contains", "scalar"],
  ["endsWith", "scalar"],
  ["indexOf", "scalar"],
  ["join", "joined"],
  ["lastIndexOf", "scalar"],
  ["lowerAscii", "text"],
  ["matches", "scalar"],
  ["size", "scalar"],
  ["split", "parts"],
  ["startsWith", "scalar"],
  ["substring", "text"],
  ["trim", "text"],
  ["upperAscii", "text"],
  ...[...TIME_PARTS].map((name): [string, ResultSize] => [name, "scalar"]),
]);

const sharedEnvironment = new Environment({
  unlistedVariablesAreDyn: false,
  // ["a", user.level] is a list of mixed, dynamic elements, as in the CEL specification.
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: false,
  limits: {
    maxAstNodes: RULE_LIMITS.nodes,
    maxDepth: RULE_LIMITS.nesting,
    maxListElements: RULE_LIMITS.listElements,
    maxMapEntries: RULE_LIMITS.mapEntries,
    maxCallArguments: RULE_LIMITS.callArguments,
  },
}).registerVariable(TIME_VARIABLE, "google.protobuf.Timestamp");

/**
 * The environment in which one rule is parsed and type-checked.
 *
 * The library has no record type with both typed fields and any further names, so an open record declares, as dynamic
 * fields, the names that this rule selects anywhere.
 *
 * @param selectedNames every field name and literal index of the rule; empty for parsing alone
 */
export function ruleEnvironment(selectedNames: Iterable<string> = []): Environment {
  const environment = sharedEnvironment.clone();
  const attributes = [...selectedNames].map((name): [string, string] => [name, "dyn"]);
  for (const [variable, { typeName, fields, open }] of RECORDS) {
    const declared = open ? [...attributes, ...fields] : [...fields];
    environment.registerType(typeName, { fields: Object.fromEntries(declared) });
    environment.registerVariable(variable, typeName);
  }
  return environment;
}

function record(typeName: string, fields: Readonly<Record<string, FieldType>>, open = false): RuleRecord {
  // A map, because attributes may have the names of what every object inherits.
  return { typeName, fields: new Map(Object.entries(fields)), open };
}
