/** Reads and writes configurations as YAML 1.2, and maps JSON Pointers to positions in the text. */
import { createReadStream } from "node:fs";
import { configurationSchemaPath } from "@gatehouse/contract/configuration-schema";
import { type Configuration, configurationLimitBytes } from "@gatehouse/contract/records/configuration";
import {
  Composer,
  CST,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { CommandFailure } from "./failure.ts";

/** The most alias resolutions in a file. People write few aliases, but nested ones multiply. */
const maxAliases = 1_000;

/**
 * The deepest nesting of a file. A configuration has at most seven levels, and composing deeper text could overflow the
 * stack.
 */
const maxNesting = 100;

/** The longest list of names that is written on one line, in characters. */
const maxInlineLength = 80;

/** The most YAML problems in one message. */
const reportedProblems = 20;

/** The file name for standard input. */
export const standardInput = "-";

export interface ConfigurationFile {
  /** The name in messages. */
  readonly name: string;
  readonly document: object;
  /** Line and column of the value at a JSON Pointer, or of the nearest enclosing value: "12:5". */
  placeOf(pointer: string): string;
}

/**
 * Reads a configuration from a file.
 *
 * @throws CommandFailure if the file does not exist or is not a configuration in YAML
 */
export async function readConfigurationFile(path: string): Promise<ConfigurationFile> {
  return parseConfiguration(path === standardInput ? "standard input" : path, await readText(path));
}

/**
 * Reads a YAML file of another kind.
 *
 * @param shape the fields that the file's mapping must have
 * @throws CommandFailure if the file does not exist or is not such a mapping
 */
export async function readMappingFile(path: string, shape: string): Promise<ConfigurationFile> {
  return parseMapping(path === standardInput ? "standard input" : path, await readText(path), {
    problem: "is not valid YAML",
    shape,
  });
}

async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === standardInput ? process.stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer); // streams without an encoding give buffers
      bytes += (chunk as Buffer).length;
      if (bytes > configurationLimitBytes) throw tooLarge(path);
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new CommandFailure(`${path} is not encoded in UTF-8.`);
  }
}

function tooLarge(name: string): CommandFailure {
  return new CommandFailure(`${name} exceeds the limit of ${configurationLimitBytes / 1_048_576} MiB.`);
}

/**
 * @param name the name in messages
 * @throws CommandFailure with line and column
 */
export function parseConfiguration(name: string, text: string): ConfigurationFile {
  return parseMapping(name, text, { problem: "is not a configuration in YAML", shape: "`version: 1` and sections" });
}

function parseMapping(
  name: string,
  text: string,
  { problem, shape }: { readonly problem: string; readonly shape: string },
): ConfigurationFile {
  const lines = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${line}:${col}`;
  };
  const failure = (problems: readonly string[]) =>
    new CommandFailure(`${name} ${problem}.`, {
      details: [...problems.slice(0, reportedProblems), ...more(problems.length)],
    });
  try {
    const tokens = [...new Parser(lines.addNewLine).parse(text)];
    if (isNestedTooDeeply(tokens)) throw failure([`${name}  the nesting exceeds ${maxNesting} levels`]);
    const options = { version: "1.2", schema: "core", uniqueKeys: true, strict: true } as const;
    const [parsed, another] = new Composer(options).compose(tokens, true, text.length);
    if (parsed === undefined) throw failure([`${name}  the file is empty`]);
    if (another !== undefined)
      throw failure([`${name}:${place(another.range[0])}  the file contains a second document`]);
    // The parser only warns of an unknown tag and takes the value for a string.
    const problems = [...parsed.errors, ...parsed.warnings];
    if (problems.length > 0) throw failure(problems.map(({ pos, message }) => `${name}:${place(pos[0])}  ${message}`));
    const document: unknown = parsed.toJS({ maxAliasCount: maxAliases });
    if (typeof document !== "object" || document === null || Array.isArray(document)) {
      throw failure([`${name}:1:1  the document must be a mapping with ${shape}`]);
    }
    if (isTooLarge(document)) throw tooLarge(name);
    return { name, document, placeOf: (pointer) => place(offsetOf(parsed.contents, pointer)) };
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    // Unresolvable aliases, or too many of them.
    throw failure([`${name}  ${error instanceof Error ? error.message : String(error)}`]);
  }
}

/** Whether the document exceeds the size limit with its aliases expanded. Stops counting at the limit. */
function isTooLarge(document: unknown): boolean {
  let remaining: number = configurationLimitBytes;
  const waiting: unknown[] = [document];
  for (let value = waiting.pop(); value !== undefined && remaining > 0; value = waiting.pop()) {
    remaining -= typeof value === "string" ? value.length + 3 : 3;
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value)) for (const key of Object.keys(value)) remaining -= key.length + 3;
    for (const part of Object.values(value)) waiting.push(part);
  }
  return remaining <= 0;
}

/** Visits level by level, because recursion over deep nesting would overflow the stack. */
function isNestedTooDeeply(tokens: readonly CST.Token[]): boolean {
  let level: readonly CST.Token[] = tokens;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxNesting) return true;
    level = level.flatMap((token) => {
      if (token.type === "document") return token.value ?? [];
      if (!CST.isCollection(token)) return [];
      return token.items.flatMap(({ key, value }) =>
        [key, value].filter((part) => part !== undefined && part !== null),
      );
    });
  }
  return false;
}

function more(count: number): readonly string[] {
  return count > reportedProblems ? [`and ${count - reportedProblems} more`] : [];
}

/** The offset of the value at the pointer, or of the nearest enclosing value. */
function offsetOf(root: Node | null, pointer: string): number {
  let node: unknown = root;
  let offset = startOf(root) ?? 0;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const step = stepInto(node, key);
    if (step === undefined) break;
    node = step.node;
    offset = step.offset ?? offset;
  }
  return offset;
}

interface Step {
  readonly node: unknown;
  readonly offset: number | undefined;
}

function stepInto(node: unknown, key: string): Step | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    return item === undefined ? undefined : { node: item, offset: startOf(item) };
  }
  if (!isMap(node)) return undefined;
  const pair = (node as YAMLMap).items.find((entry) => isScalar(entry.key) && String(entry.key.value) === key);
  if (pair === undefined) return undefined;
  // A scalar value has its own position. A list or mapping has the position of its key.
  return { node: pair.value, offset: isScalar(pair.value) ? startOf(pair.value) : startOf(pair.key) };
}

function startOf(node: unknown): number | undefined {
  const ranged = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node);
  return ranged ? node.range?.[0] : undefined;
}

/**
 * The configuration as YAML.
 *
 * @param url of the server that provides the schema for editors
 */
export function configurationText(configuration: Configuration, url: string): string {
  const schema = `${url.replace(/\/+$/, "")}${configurationSchemaPath}`;
  // Quotes strings that YAML 1.1 parsers interpret differently, such as no.
  const document = new Document(configuration, { version: "1.2", schema: "core", compat: "yaml-1.1" });
  visit(document, {
    Seq(_key, list) {
      list.flow = isShort(list);
    },
  });
  return `# yaml-language-server: $schema=${schema}\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}`;
}

/** Whether a list contains only scalars and fits on one line. */
function isShort(list: YAMLSeq): boolean {
  let characters = 0;
  for (const item of list.items) {
    if (!isScalar(item)) return false;
    characters += String(item.value).length + 2;
  }
  return characters <= maxInlineLength;
}
