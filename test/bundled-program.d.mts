import type { Plugin } from "rolldown";

export function importBundled(
  module: URL,
  options?: { readonly cache?: URL; readonly plugins?: readonly Plugin[] },
): Promise<Readonly<Record<string, unknown>>>;
