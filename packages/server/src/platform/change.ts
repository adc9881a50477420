import type { TargetType } from "@gatehouse/contract/event-types";
import type { ActorType } from "@gatehouse/contract/records/event";
import { AppError, bodyField } from "./app-error.ts";
import { problemOfNewName } from "./readable-names.ts";

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
