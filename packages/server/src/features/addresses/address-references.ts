import type { ReferenceHolder } from "../references/references.api.ts";
import { addressesWithProtocol } from "./addresses.queries.ts";

/** References that addresses hold: a protocol cannot be deleted while an address uses it. */
export const addressReferences: ReferenceHolder = {
  protocol: {
    async blocking(tx, id) {
      const records = await addressesWithProtocol(tx, id);
      return records.length === 0 ? undefined : { title: "Addresses", path: "/tenants/addresses", records };
    },
  },
};
