/** Public API of this feature: addresses. */
export { addressReferences } from "./address-references.ts";
export {
  deleteAddresses,
  insertAddresses,
  lockAddress,
  readAddress,
  type StoredAddress,
  updateAddresses,
} from "./addresses.queries.ts";
export {
  type CanonicalAddress,
  checkAddress,
  checkAnswersWithin,
  checkNewAddress,
  closedAddressProblem,
  repeatedAddresses,
} from "./addresses.rules.ts";
export { type AddressJson, addressJson, addressView, auditedAddress, protocolJson } from "./addresses.view.ts";
export { portProblem, requirePortLimit } from "./port-limit.ts";
