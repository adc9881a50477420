import type { Work } from "../work.ts";
import type { AccessLevel } from "./access-level.ts";

/** A user without a device, a user with one of the user's devices, or a site. Usable as the `Subject` of a request. */
export type AccessSubject =
  | { readonly kind: "user"; readonly userId: string; readonly deviceId?: string }
  | { readonly kind: "site"; readonly gatewayId: string };

export type Direction = "gained" | "lost";

/** A change of the level of access. The level rises for a gain and falls for a loss. */
export interface LevelChange {
  readonly direction: Direction;
  readonly before: AccessLevel;
  readonly after: AccessLevel;
}

/** A subject whose access to a destination changed. */
export interface AccessRow extends LevelChange {
  readonly subject: AccessSubject;
  /** Absent for the internet outside any resource. */
  readonly resourceId?: string;
}

/** Counts over all rows of one direction. Each record counts once. */
export interface AccessCounts {
  /** Users who gain or lose access without a device or with any of their devices. */
  readonly users: number;
  readonly devices: number;
  readonly sites: number;
  readonly resources: number;
  /** Whether access to the internet outside any resource is among the rows. */
  readonly internet: boolean;
  /** The number of rows: pairs of subject and destination. */
  readonly pairs: number;
}

/** A section of a list. */
export interface Page {
  /** The number of items to skip. */
  readonly offset: number;
  readonly limit: number;
}

/** Rows with the same change of level. Each subject's access to each destination of the group changed in this way. */
export interface AccessGroup extends LevelChange, AccessCounts {
  /** Ids in order, without the internet. */
  readonly resourceIds: readonly string[];
  /** The number of subjects. A user counts once without a device and once with each device. */
  readonly subjectCount: number;
  /** The subjects in the order of rows. */
  subjects(page: Page): Work<readonly AccessSubject[]>;
}

/** The access that is gained and lost between two models of a tenant. */
export interface AccessDifference {
  readonly gained: AccessCounts;
  readonly lost: AccessCounts;
  /** Gains first, then the groups with the most rows. Each row is in exactly one group. */
  readonly groups: readonly AccessGroup[];
  /**
   * Gains first. Rows are ordered by the id of the destination, with the internet last, and then by subject: users by
   * id, each first without a device and then by the id of the device, and sites after all users.
   */
  rows(page: Page): Work<readonly AccessRow[]>;
}
