import type { Model } from "../model/model.ts";
import type { RuleSubject } from "./rule-certainties.ts";

/** A user, with or without a device, or a site, as it exists in one model. */
export interface PrincipalState extends RuleSubject {
  readonly model: Model;
  /** Ids of the user's groups, which may include missing ones. */
  readonly groupIds: readonly string[];
  /** The user's index in `NumberedGroups`. Undefined if the groups are found by their ids. */
  readonly userNumber: number | undefined;
  /** Identifies the user in one model: equal for all devices of the user, never 0 and never reused. */
  readonly key: number;
}

/** A subject whose access is compared. */
export interface ComparedSubject {
  /** Undefined if the subject may reach nothing in the model before the change. */
  readonly before: PrincipalState | undefined;
  /** Undefined if the subject may reach nothing in the model after the change. */
  readonly after: PrincipalState | undefined;
  readonly isDevice: boolean;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
  gains: boolean;
  loses: boolean;
}
