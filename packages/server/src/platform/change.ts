import type { TargetType } from "@gatehouse/contract/event-types";
import type { ActorType } from "@gatehouse/contract/records/event";
import { AppError, bodyField } from "./app-error.ts";

/** A change to one record, as stored in the audit entry and the outbox. */
export interface Change {
  /** The noun, singular: `resource`, `api-key`. */
  readonly type: TargetType;
  readonly id: string;
  readonly name?: string | undefined;
  /** The record as the API shows it, without secrets; absent when it was created. */
  readonly before?: object | undefined;
  /** The record as the API shows it, without secrets; absent when it was deleted. */
  readonly after?: object | undefined;
}

/** The author of a change. */
export interface Actor {
  readonly type: ActorType;
  /** Undefined for the operator and the system. */
  readonly id?: string;
  readonly name: string;
}

/** The data that all changes of one command share. */
export interface Origin {
  readonly actor: Actor;
  /** The operation's id. */
  readonly operation: string;
  readonly requestId: string;
  readonly sourceAddress?: string | undefined;
  readonly at: Date;
  /** The caller's reason for overriding access tests. */
  readonly reason?: string | undefined;
  /** The id of the event that the changes revert. */
  readonly reverts?: string | undefined;
}

/** A change that a command recorded. */
export interface RecordedChange {
  /** The id of its audit entry. */
  readonly id: string;
  readonly origin: Origin;
  readonly change: Change;
}

/**
 * Characters that change the direction of the text around them (Unicode Standard Annex 9). In a name, they make another
 * name visible than the one that is compared.
 */
const directionControls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Line and paragraph separators, which divide a line of a log or a list in two, and noncharacters. */
const separators = /[\p{Zl}\p{Zp}\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/**
 * Characters without a glyph: soft hyphens, zero-width spaces, and controls of formulas, annotations and shapes. Two
 * names that differ only in these look equal. Joiners, variation selectors and tags stay: scripts and emoji need them.
 */
const hiddenCharacters = /[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb]/u;

/** Text in which a reader sees nothing: spaces, ignorable characters such as U+200B and U+FEFF, and blank Braille. */
const invisibleText = /^[\s\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]*$/u;

/** The reason for which a new record cannot have a name. Undefined if it can. */
export function problemOfNewName(name: string): string | undefined {
  if (directionControls.test(name)) return "must not contain characters that change the direction of text";
  if (invisibleText.test(name)) return "must contain a visible character";
  if (separators.test(name)) return "must not contain line separators or control characters";
  return hiddenCharacters.test(name) ? "must not contain invisible characters" : undefined;
}

/**
 * Rejects a new name that cannot be read. Existing names stay valid, and a revert restores them.
 *
 * @throws AppError invalid_name
 */
export function requireReadableName({ before, after }: Change, { reverts }: Origin): void {
  if (reverts !== undefined) return;
  const name = nameOf(after);
  const problem = name === undefined ? undefined : problemOfNewName(name);
  if (problem === undefined || name === nameOf(before)) return;
  throw new AppError("invalid_name", { errors: [bodyField("/name", problem)] });
}

function nameOf(record: object | undefined): string | undefined {
  return record !== undefined && "name" in record && typeof record.name === "string" ? record.name : undefined;
}
