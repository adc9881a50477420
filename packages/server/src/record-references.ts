/** All references between records, in the order in which a deletion removes them. */
import { addressReferences } from "./features/addresses/addresses.api.ts";
import { deviceReferences } from "./features/devices/devices.api.ts";
import { enrolmentKeyReferences } from "./features/enrolment-keys/enrolment-keys.api.ts";
import { policyReferences } from "./features/policies/policies.api.ts";
import { References } from "./features/references/references.api.ts";
import { membershipReferences } from "./features/users/users.api.ts";

export const recordReferences: References = new References([
  addressReferences,
  deviceReferences,
  enrolmentKeyReferences,
  membershipReferences,
  policyReferences,
]);
