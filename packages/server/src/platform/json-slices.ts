/** Measures and serializes large JSON values in slices. Pure. */
import type { Work } from "@gatehouse/policy/work";
import { embeddedText } from "./embedded-json.ts";
import type { Outcome, RecordOutcome } from "./outcome.ts";

/** Values with fewer nodes are processed at once. */
export const smallNodes = 1_000;
/** A string counts as one more node for each of these characters. */
const charactersOfNode = 64;
/** The cost of serializing a node, in rule-cost units. */
const nodeCost = 10;

/** Whether a value can be validated or serialized at once. */
export function isSmall(value: unknown): boolean {
  return nodesIn(value) <= smallNodes;
}

/**
 * The number of values in a value. Long strings count more. Counting stops soon after the number of a small value.
 */
export function nodesIn(value: unknown): number {
  let nodes = 0;
  const waiting = [value];
  while (waiting.length > 0 && nodes <= smallNodes) {
    const part = waiting.pop();
    nodes += 1;
    const text = typeof part === "string" ? part : embeddedText(part);
    if (text !== undefined) nodes += Math.floor(text.length / charactersOfNode);
    else if (Array.isArray(part)) {
      for (let index = 0; index < part.length && index <= smallNodes; index += 1) waiting.push(part[index]);
    } else if (typeof part === "object" && part !== null) {
      for (const key in part) {
        waiting.push((part as Readonly<Record<string, unknown>>)[key]);
        if (waiting.length > 2 * smallNodes) break;
      }
    }
  }
  return nodes;
}

/**
 * The JSON of a value of objects, arrays, strings, numbers, booleans, null and embedded JSON, in parts that follow each
 * other.
 */
export function* jsonParts(value: unknown): Work<readonly string[]> {
  const parts: string[] = [];
  yield* addJson(value, parts);
  return parts;
}

/** Whether an outcome has a body that was not serialized yet and must be serialized in slices. */
export function hasLargeBody<O extends Outcome>(outcome: O): outcome is O & RecordOutcome {
  if (outcome.kind !== "record" || outcome.bytes !== undefined || outcome.text !== undefined) return false;
  return !isSmall(outcome.body);
}

/** An outcome with its body serialized. */
export function* withSerializedBody<O extends RecordOutcome>(outcome: O): Work<O> {
  return { ...outcome, bytes: yield* jsonBytes(outcome.body) };
}

/** The JSON of a value in UTF-8. */
export function* jsonBytes(value: unknown): Work<Buffer> {
  const parts: Buffer[] = [];
  for (const part of yield* jsonParts(value)) {
    yield part.length / 40;
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts);
}

function* addJson(value: unknown, parts: string[]): Work<void> {
  const embedded = embeddedText(value);
  if (embedded !== undefined) {
    parts.push(embedded);
    return;
  }
  const nodes = nodesIn(value);
  yield nodes * nodeCost;
  if (nodes <= smallNodes || typeof value !== "object" || value === null) parts.push(JSON.stringify(value) ?? "null");
  else if (Array.isArray(value)) yield* addArray(value, parts);
  else yield* addObject(value, parts);
}

function* addArray(items: readonly unknown[], parts: string[]): Work<void> {
  let start = 0;
  while (start < items.length) {
    let [end, nodes] = [start, 0];
    for (; end < items.length && nodes < smallNodes; end += 1) {
      const more = nodesIn(items[end]);
      if (more > smallNodes && end > start) break;
      nodes += more;
    }
    parts.push(start === 0 ? "[" : ",");
    if (end - start === 1) yield* addJson(items[start], parts);
    else {
      yield nodes * nodeCost;
      parts.push(JSON.stringify(items.slice(start, end)).slice(1, -1));
    }
    start = end;
  }
  parts.push("]");
}

function* addObject(value: object, parts: string[]): Work<void> {
  let separator = "{";
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue;
    parts.push(`${separator}${JSON.stringify(key)}:`);
    separator = ",";
    yield* addJson(part, parts);
  }
  parts.push(separator === "{" ? "{}" : "}");
}
