/** Reads and writes configurations as YAML 1.2, and finds the line that a JSON Pointer means. */
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

/** How often aliases may be resolved in all: written by people they are few, and nested ones multiply. */
const mostAliases = 1_000;

/** No configuration has more than seven levels; composing goes as deep as the text does, and the stack ends. */
const deepestNesting = 100;

/** Lists of names of up to so many characters stand in one line. */
const shortList = 80;

/** Problems with the YAML that one answer lists at most. */
const reportedProblems = 20;

/** The name that means standard input. */
export const standardInput = "-";

export interface ConfigurationFile {
  /** What messages call it. */
  readonly name: string;
  readonly document: object;
  /** Line and column of what a JSON Pointer means, or of the nearest thing around it: "12:5". */
  placeOf(pointer: string): string;
}

/** @throws CommandFailure when there is no such file, or what is in it is no configuration in YAML */
export async function readConfigurationFile(path: string): Promise<ConfigurationFile> {
  return parseConfiguration(path === standardInput ? "standard input" : path, await readText(path));
}

/**
 * As `readConfigurationFile`, of another kind of file.
 *
 * @param shape what the file has to be a mapping with
 * @throws CommandFailure
 */
export async function readMappingFile(path: string, shape: string): Promise<ConfigurationFile> {
  return parseMapping(path === standardInput ? "standard input" : path, await readText(path), {
    refusal: "cannot be read as YAML",
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
    throw new CommandFailure(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new CommandFailure(`${path} is not a text in UTF-8.`);
  }
}

function tooLarge(name: string): CommandFailure {
  return new CommandFailure(`${name} is larger than the ${configurationLimitBytes / 1_048_576} MiB that are taken.`);
}

/**
 * @param name what messages call the text
 * @throws CommandFailure, with line and column
 */
export function parseConfiguration(name: string, text: string): ConfigurationFile {
  return parseMapping(name, text, { refusal: "is no configuration in YAML", shape: "version: 1 and the sections" });
}

function parseMapping(
  name: string,
  text: string,
  { refusal, shape }: { readonly refusal: string; readonly shape: string },
): ConfigurationFile {
  const lines = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${line}:${col}`;
  };
  const refused = (problems: readonly string[]) =>
    new CommandFailure(`${name} ${refusal}.`, {
      details: [...problems.slice(0, reportedProblems), ...more(problems.length)],
    });
  try {
    const tokens = [...new Parser(lines.addNewLine).parse(text)];
    if (isNestedTooDeeply(tokens)) throw refused([`${name}  it is nested more than ${deepestNesting} levels deep`]);
    const options = { version: "1.2", schema: "core", uniqueKeys: true, strict: true } as const;
    const [parsed, another] = new Composer(options).compose(tokens, true, text.length);
    if (parsed === undefined) throw refused([`${name}  it is empty`]);
    if (another !== undefined) throw refused([`${name}:${place(another.range[0])}  a second document begins`]);
    // An unknown tag is only a warning to the parser, which takes the value for a text.
    const problems = [...parsed.errors, ...parsed.warnings];
    if (problems.length > 0) throw refused(problems.map(({ pos, message }) => `${name}:${place(pos[0])}  ${message}`));
    const document: unknown = parsed.toJS({ maxAliasCount: mostAliases });
    if (typeof document !== "object" || document === null || Array.isArray(document)) {
      throw refused([`${name}:1:1  it must be a mapping with ${shape}`]);
    }
    if (isTooLarge(document)) throw tooLarge(name);
    return { name, document, placeOf: (pointer) => place(offsetOf(parsed.contents, pointer)) };
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    // Aliases that multiply, or name nothing.
    throw refused([`${name}  ${error instanceof Error ? error.message : String(error)}`]);
  }
}

/** Whether the document would be longer than is taken once aliases are written out; counts no further than that. */
function isTooLarge(document: unknown): boolean {
  let left: number = configurationLimitBytes;
  const waiting: unknown[] = [document];
  for (let value = waiting.pop(); value !== undefined && left > 0; value = waiting.pop()) {
    left -= typeof value === "string" ? value.length + 3 : 3;
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value)) for (const key of Object.keys(value)) left -= key.length + 3;
    for (const part of Object.values(value)) waiting.push(part);
  }
  return left <= 0;
}

/** Level by level, without recursion: that is what too deep a text would exhaust. */
function isNestedTooDeeply(tokens: readonly CST.Token[]): boolean {
  let level: readonly CST.Token[] = tokens;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepestNesting) return true;
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

/** Where the pointer leads in the text, as far as there is something. */
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
  // Of a value that stands beside its key, the value; of a list or mapping below it, the key.
  return { node: pair.value, offset: isScalar(pair.value) ? startOf(pair.value) : startOf(pair.key) };
}

function startOf(node: unknown): number | undefined {
  const ranged = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node);
  return ranged ? node.range?.[0] : undefined;
}

/**
 * A configuration as people read it.
 *
 * @param url of the installation that serves the schema for editors
 */
export function configurationText(configuration: Configuration, url: string): string {
  const schema = `${url.replace(/\/+$/, "")}${configurationSchemaPath}`;
  // Texts that older parsers take for something else, such as no, are quoted for them.
  const document = new Document(configuration, { version: "1.2", schema: "core", compat: "yaml-1.1" });
  visit(document, {
    Seq(_key, list) {
      list.flow = isShort(list);
    },
  });
  return `# yaml-language-server: $schema=${schema}\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}`;
}

/** Whether a list is one of names that stand well in one line. */
function isShort(list: YAMLSeq): boolean {
  let characters = 0;
  for (const item of list.items) {
    if (!isScalar(item)) return false;
    characters += String(item.value).length + 2;
  }
  return characters <= shortList;
}
