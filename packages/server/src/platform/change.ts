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

/** Who makes changes. */
export interface Actor {
  readonly type: "api-key" | "operator" | "system";
  readonly id?: string;
  readonly name: string;
}

/** What every change of one command has in common. */
export interface Origin {
  readonly actor: Actor;
  /** The operation's id. */
  readonly operation: string;
  readonly requestId: string;
  readonly sourceAddress?: string | undefined;
  readonly at: Date;
  /** What the caller gave as the reason for overriding access tests. */
  readonly reason?: string | undefined;
}
