import { tokenPrefixes } from "../platform/secrets/tokens.ts";

/** The formats of all secrets that Gatehouse generates. */
export const secretForms = new RegExp(
  `(?:${Object.values(tokenPrefixes).join("|")})[0-9A-Za-z]{49}|whsec_[0-9A-Za-z+/]{20}`,
);
