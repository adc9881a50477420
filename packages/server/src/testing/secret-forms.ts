import { tokenPrefixes } from "../platform/secrets/tokens.ts";

/** Every secret that Gatehouse makes has one of these forms. */
export const secretForms = new RegExp(
  `(?:${Object.values(tokenPrefixes).join("|")})[0-9A-Za-z]{49}|whsec_[0-9A-Za-z+/]{20}`,
);
