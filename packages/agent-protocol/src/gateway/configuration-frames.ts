import type { HashTree } from "../link/hash-tree.ts";
import { framesOf, framesOfPieces } from "../link/message-parts.ts";
import { TextPiece } from "../link/text-piece.ts";
import type { Membership } from "./configuration.ts";
import type { ContentTree } from "./content-tree.ts";
import type { OfferedConfiguration } from "./server-link.ts";

/** The length of a piece with members of a class, in characters. Shorter pieces would have to be joined again. */
const membersLength = 8 * 1024;

/** The texts of the members of a class: those that some frame has needed, and the rest. */
interface MemberTexts {
  readonly pieces: TextPiece[];
  readonly rest: Iterator<TextPiece>;
}

/** Many gateways have the same classes. */
const memberTexts = new WeakMap<HashTree<Membership>, MemberTexts>();

/** Returns the frames of a configuration. The texts of devices and classes that many gateways have are encoded once. */
export function configurationFrames(message: OfferedConfiguration): Iterable<string> {
  return message.type === "difference" ? framesOf(message) : framesOfPieces(wholePieces(message));
}

function* wholePieces({ envelope, content }: OfferedConfiguration & { type: "whole" }): Iterable<TextPiece> {
  const { settings, peers, classes, resources, destinations } = content;
  const piece = (text: string) => new TextPiece(text);
  yield piece(
    `{"type":"whole","envelope":${JSON.stringify(envelope)},"content":{"settings":${JSON.stringify(settings)}`,
  );
  yield piece(`,"peers":{`);
  yield* entriesOf(peers);
  yield piece(`},"classes":{`);
  let before = "";
  for (const [key, members] of classes.entries()) {
    yield piece(`${before}${JSON.stringify(key)}:{`);
    yield* membersOf(members);
    before = "},";
  }
  yield piece(`${before === "" ? "" : "}"}},"resources":{`);
  yield* entriesOf(resources);
  yield piece(`},"destinations":{`);
  yield* entriesOf(destinations);
  yield piece("}}}");
}

function* entriesOf(tree: ContentTree["peers" | "resources" | "destinations"]): Iterable<TextPiece> {
  let isFirst = true;
  for (const piece of tree.texts()) {
    yield isFirst ? new TextPiece(piece.text.slice(1)) : piece;
    isFirst = false;
  }
}

function* membersOf(members: HashTree<Membership>): Iterable<TextPiece> {
  let texts = memberTexts.get(members);
  if (texts === undefined) {
    texts = { pieces: [], rest: joinedTexts(members) };
    memberTexts.set(members, texts);
  }
  const { pieces, rest } = texts;
  for (let index = 0; ; index += 1) {
    if (index === pieces.length) {
      const next = rest.next();
      if (next.done === true) return;
      pieces.push(next.value);
    }
    yield pieces[index] as TextPiece; // it exists, or was added
  }
}

function* joinedTexts(members: HashTree<Membership>): Iterator<TextPiece> {
  let text = "";
  let isFirst = true;
  for (const entry of members.texts()) {
    text += isFirst ? entry.text.slice(1) : entry.text;
    isFirst = false;
    if (text.length < membersLength) continue;
    yield new TextPiece(text);
    text = "";
  }
  if (text !== "") yield new TextPiece(text);
}
