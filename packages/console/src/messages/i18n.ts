/**
 * The message catalogue of the console: every text that a person reads, under a typed key.
 *
 * There is one locale, fixed when the page loads. `t` may therefore be called at module level, for example in the
 * definition of a list.
 */
import { createInstance, type ParseKeys } from "i18next";
import { en } from "./en/en.ts";
import { locale } from "./locale.ts";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "translation";
    nsSeparator: false;
    resources: { readonly translation: typeof en };
  }
}

export const i18n = createInstance();

/** Right-to-left scripts, and the control characters that change the direction of text. */
const changesDirection = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Isolates a value that would change the direction of the text around it, such as the name of a record. */
export function isolateDirection(value: string): string {
  return changesDirection.test(value) ? `\u2068${value}\u2069` : value;
}

// The catalogue is part of the bundle, so `init` finishes before it returns.
void i18n.init({
  lng: locale,
  fallbackLng: "en",
  resources: { en: { translation: en } },
  initAsync: false,
  nsSeparator: false,
  // React escapes what it renders. An escaped value would show entities.
  interpolation: { escapeValue: true, escape: isolateDirection },
});

export const t = i18n.t;

/** Every key of the catalogue. A key with plural forms has no suffix. */
export type MessageKey = ParseKeys;
