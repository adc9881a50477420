/** What other features may ask of addresses. */
export { addressReferences } from "./address-references.ts";
export { deleteAddress, insertAddresses, lockAddress, readAddress } from "./addresses.queries.ts";
export { type CanonicalAddress, checkAddress, repeatedAddresses } from "./addresses.rules.ts";
export { type AddressJson, addressJson, addressView, auditedAddress } from "./addresses.view.ts";
export {
  type BulkAddress,
  deleteAddressesInBulk,
  insertAddressesInBulk,
  updateAddressesInBulk,
} from "./addresses-in-bulk.queries.ts";
