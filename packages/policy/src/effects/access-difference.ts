import type { AccessLevel } from "./access-level.ts";

/** Who has access: a user, without a device or with one of theirs, or a site. Can be asked about as a `Subject` of a request. */
export type AccessSubject =
  | { readonly kind: "user"; readonly userId: string; readonly deviceId?: string }
  | { readonly kind: "site"; readonly gatewayId: string };

export type Direction = "gained" | "lost";

/** How the level of access changed: it rises for who gains, and falls for who loses. */
export interface LevelChange {
  readonly direction: Direction;
  readonly before: AccessLevel;
  readonly after: AccessLevel;
}

/** One subject whose access to one destination changed. */
export interface AccessRow extends LevelChange {
  readonly subject: AccessSubject;
  /** Absent: the internet, as far as it is no resource. */
  readonly resourceId?: string;
}

/** How many there are among all rows of a direction, each counted once. */
export interface AccessCounts {
  /** Users who gain or lose something without a device or with any of theirs. */
  readonly users: number;
  readonly devices: number;
  readonly sites: number;
  readonly resources: number;
  /** Whether access to the internet, as far as it is no resource, is among them. */
  readonly internet: boolean;
  /** Rows: pairs of subject and destination. */
  readonly pairs: number;
}

/** Which of many are wanted. */
export interface Page {
  /** How many are passed over. */
  readonly offset: number;
  readonly limit: number;
}

/** Rows with the same subjects and the same change of level: every subject's access to every destination changed so. */
export interface AccessGroup extends LevelChange, AccessCounts {
  /** Ids, in order; the internet is not among them. */
  readonly resourceIds: readonly string[];
  /** How many subjects: a user counts once without a device, and once with each. */
  readonly subjectCount: number;
  /** In the order of rows. */
  subjects(page: Page): readonly AccessSubject[];
}

/** Who gains and who loses access to what, from one model of a tenant to another. */
export interface AccessDifference {
  readonly gained: AccessCounts;
  readonly lost: AccessCounts;
  /** Gained ones first, then those with the most rows; each row is in exactly one. */
  readonly groups: readonly AccessGroup[];
  /**
   * Gained ones first; by destination in the order of ids, the internet last; by user, first without a device and then by
   * device, all in the order of ids, and sites after that.
   */
  rows(page: Page): readonly AccessRow[];
}
