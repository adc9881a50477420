import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import type { ReferenceHolder } from "../references/references.api.ts";
import { deleteEnrolmentKeysOfUsers } from "./enrolment-keys.queries.ts";
import { enrolmentKeyView } from "./enrolment-keys.view.ts";

/** References that enrolment keys hold: the keys of a deleted user are deleted. */
export const enrolmentKeyReferences: ReferenceHolder = {
  user: { remove: (tx, granted, { id }, at) => deleteKeysOfUsers(tx, granted, [id], at) },
};

/** Deletes the enrolment keys of users who are about to be deleted, and records the deletions. */
export async function deleteKeysOfUsers(
  tx: CommandTx,
  granted: Granted<"users:write">,
  userIds: readonly string[],
  at: Date,
): Promise<void> {
  for (const row of await deleteEnrolmentKeysOfUsers(tx, granted, userIds)) {
    tx.record({ type: "enrolment-key", id: row.id, name: row.name, before: enrolmentKeyView(row, at) });
  }
}
