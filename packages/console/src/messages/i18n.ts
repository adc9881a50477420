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

// The catalogue is part of the bundle, so `init` finishes before it returns.
void i18n.init({
  lng: locale,
  fallbackLng: "en",
  resources: { en: { translation: en } },
  initAsync: false,
  nsSeparator: false,
  // React escapes what it renders. An escaped value would show entities.
  interpolation: { escapeValue: false },
});

export const t = i18n.t;

/** Every key of the catalogue. A key with plural forms has no suffix. */
export type MessageKey = ParseKeys;
