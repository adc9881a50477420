import type { ReferenceHolder } from "../references/references.api.ts";
import { deleteEnrolmentKeysOfUser } from "./enrolment-keys.queries.ts";
import { enrolmentKeyView } from "./enrolment-keys.view.ts";

/** References that enrolment keys hold: the keys of a deleted user are deleted. */
export const enrolmentKeyReferences: ReferenceHolder = {
  user: {
    async remove(tx, granted, { id }, at) {
      for (const row of await deleteEnrolmentKeysOfUser(tx, granted, id)) {
        tx.record({ type: "enrolment-key", id: row.id, name: row.name, before: enrolmentKeyView(row, at) });
      }
    },
  },
};
