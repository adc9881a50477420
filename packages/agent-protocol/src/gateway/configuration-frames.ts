import type { HashTree } from "../link/hash-tree.ts";
import { framesOf, framesOfPieces } from "../link/message-parts.ts";
import { TextPiece } from "../link/text-piece.ts";
import type { Membership } from "./configuration.ts";
import type { ContentTree } from "./content-tree.ts";
import type { OfferedConfiguration } from "./server-link.ts";

/** The length of a piece with members of a class, in characters. Shorter pieces would have to be joined again. */
const membersLength = 8 * 1024;
/** The texts of the members of classes. Many gateways have the same classes. */
const memberTexts = new WeakMap<HashTree<Membership>, readonly TextPiece[]>();

/** Returns the frames of a configuration. The texts of devices and classes that many gateways have are encoded once. */
export function configurationFrames(message: OfferedConfiguration): Iterable<string> {
  return message.type === "difference" ? framesOf(message) : framesOfPieces(wholePieces(message));
}

function wholePieces({ envelope, content }: OfferedConfiguration & { type: "whole" }): TextPiece[] {
  const { settings, peers, classes, resources, destinations } = content;
  const pieces: TextPiece[] = [];
  const add = (text: string) => pieces.push(new TextPiece(text));
  add(`{"type":"whole","envelope":${JSON.stringify(envelope)},"content":{"settings":${JSON.stringify(settings)}`);
  add(`,"peers":{`);
  addEntries(peers, pieces);
  add(`},"classes":{`);
  let before = "";
  for (const [key, members] of classes.entries()) {
    add(`${before}${JSON.stringify(key)}:{`);
    for (const piece of membersOf(members)) pieces.push(piece);
    before = "},";
  }
  add(`${before === "" ? "" : "}"}},"resources":{`);
  addEntries(resources, pieces);
  add(`},"destinations":{`);
  addEntries(destinations, pieces);
  add("}}}");
  return pieces;
}

function addEntries(tree: ContentTree["peers" | "resources" | "destinations"], pieces: TextPiece[]): void {
  let isFirst = true;
  for (const piece of tree.texts()) {
    pieces.push(isFirst ? new TextPiece(piece.text.slice(1)) : piece);
    isFirst = false;
  }
}

function membersOf(members: HashTree<Membership>): readonly TextPiece[] {
  const known = memberTexts.get(members);
  if (known !== undefined) return known;
  const pieces: TextPiece[] = [];
  let text = "";
  for (const entry of members.texts()) {
    text += text === "" && pieces.length === 0 ? entry.text.slice(1) : entry.text;
    if (text.length < membersLength) continue;
    pieces.push(new TextPiece(text));
    text = "";
  }
  if (text !== "") pieces.push(new TextPiece(text));
  memberTexts.set(members, pieces);
  return pieces;
}
