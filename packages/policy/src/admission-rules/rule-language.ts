import { Environment } from "@marcbachmann/cel-js";

/**
 * The names that an admission rule may use: variables with their fields, functions, and limits. This module defines the
 * whole language beyond CEL's operators and literals. Any other name is reported as a problem with its position.
 */

export const RULE_LIMITS = {
  /** The length of the text in Unicode characters. */
  characters: 4096,
  /** Operators, operands and literals. */
  nodes: 2000,
  /** The nesting depth of brackets, calls and selections. */
  nesting: 40,
  /** The depth of operators, including a long chain of ||. Bounds the recursion of every later pass. */
  treeDepth: 300,
  listElements: 256,
  mapEntries: 64,
  callArguments: 4,
  /**
   * The nesting depth of lists. The library stores every type that it encounters, so the number of types must be
   * bounded.
   */
  valueNesting: 3,
  patternCharacters: 256,
  /** RE2 program instructions of all literal patterns of a rule together. */
  patternInstructions: 2000,
  /** Maximum number of instructions of a pattern that a rule computes. */
  computedPatternInstructions: 500,
  /** Estimated work of one evaluation. A unit takes about 20 ns. */
  cost: 200_000,
  /** The same for rules that were within the limit when some functions had lower costs. */
  formerCost: 450_000,
} as const;

/** Times have the names of the library's types. */
export type FieldType =
  | "string"
  | "bool"
  | "list<string>"
  | "map<string, dyn>"
  | "google.protobuf.Timestamp"
  | "google.protobuf.Duration";

export interface RuleRecord {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, FieldType>;
  /** Whether names beyond the fields are attributes of any type. */
  readonly open: boolean;
}

/** The record variables of a rule (contract, "Admission rule text"). */
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
      tags: "list<string>",
      agent: "bool",
      posture: "map<string, dyn>",
    }),
  ],
  [
    "session",
    record("Session", {
      authenticatedAt: "google.protobuf.Timestamp",
      age: "google.protobuf.Duration",
      methods: "list<string>",
      provider: "string",
    }),
  ],
  ["source", record("Source", { ip: "string", country: "string" })],
  ["resource", record("Resource", { name: "string", type: "string" })],
]);

/** The variable that makes a rule depend on time. */
export const TIME_VARIABLE = "now";

/** The variable with the field `age`, which makes a rule depend on time too. */
export const SESSION_VARIABLE = "session";

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

/** Macros that bind their first argument to each element of their receiver, with the allowed numbers of arguments. */
export const COMPREHENSIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ["all", [2]],
  ["exists", [2]],
  ["exists_one", [2]],
  ["filter", [2]],
  ["map", [2, 3]],
]);

/** The size of a function's result, for the cost estimate. */
export type ResultSize = "scalar" | "text" | "part" | "parts" | "joined" | "argument";

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
  ["string", "part"],
  ["timestamp", "scalar"],
  ["uint", "scalar"],
]);

/** Methods that read a part of a timestamp. An argument names an IANA time zone. */
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

/** Methods that search one text in another. Their work can grow with the product of both lengths. */
export const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split"]);

export const METHODS: ReadonlyMap<string, ResultSize> = new Map<string, ResultSize>([
  ["contains", "scalar"],
  ["endsWith", "scalar"],
  ["indexOf", "scalar"],
  ["join", "joined"],
  ["lastIndexOf", "scalar"],
  ["lowerAscii", "part"],
  ["matches", "scalar"],
  ["size", "scalar"],
  ["split", "parts"],
  ["startsWith", "scalar"],
  ["substring", "part"],
  ["trim", "part"],
  ["upperAscii", "part"],
  ...[...TIME_PARTS].map((name): [string, ResultSize] => [name, "scalar"]),
]);

/** Options that checking and evaluation share. */
export const ENVIRONMENT_OPTIONS = {
  // The CEL specification treats `["a", user.level]` as a list of dynamic elements.
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: false,
  limits: {
    maxAstNodes: RULE_LIMITS.nodes,
    maxDepth: RULE_LIMITS.nesting,
    maxListElements: RULE_LIMITS.listElements,
    maxMapEntries: RULE_LIMITS.mapEntries,
    maxCallArguments: RULE_LIMITS.callArguments,
  },
} as const;

const sharedEnvironment = new Environment({
  unlistedVariablesAreDyn: false,
  ...ENVIRONMENT_OPTIONS,
}).registerVariable(TIME_VARIABLE, "google.protobuf.Timestamp");

/**
 * The environment in which a rule is parsed and type-checked.
 *
 * The library has no record type with typed fields and further names. An open record therefore declares the names that
 * the rule selects anywhere as dynamic fields.
 *
 * @param selectedNames every field name and literal index in the rule; empty for parsing alone
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
  // A map, because attributes may have the names of inherited object properties.
  return { typeName, fields: new Map(Object.entries(fields)), open };
}
