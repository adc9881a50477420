import type { TargetType } from "@gatehouse/contract/event-types";

/** A change to one record, as the audit entry and the outbox tell it. */
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
  readonly type: "api-key" | "operator" | "system";
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
}
