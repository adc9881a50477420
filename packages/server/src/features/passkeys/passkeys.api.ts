/** Public API of this feature: passkeys. */
export {
  findPresentedPasskey,
  insertPasskey,
  listPasskeyRows,
  notePasskeyUse,
  readPasskeysOfUser,
} from "./passkeys.queries.ts";
export { auditedPasskey, passkeyView } from "./passkeys.view.ts";
export {
  authenticationOptions,
  ceremonyMs,
  presentedCredentialHash,
  type RelyingParty,
  registrationOptions,
  relyingPartyOf,
  verifyAuthentication,
  verifyRegistration,
} from "./verify-passkey.ts";
