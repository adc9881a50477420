/** How a person shows a list: columns, density and page size. Kept in the browser, for each list. */
import { useState } from "react";

export const pageSizes = [25, 50, 100] as const;
export const defaultPageSize = 25;

export interface ListPreferences {
  /** Keys of columns that are not shown. */
  readonly hidden: readonly string[];
  readonly density: "comfortable" | "compact";
  readonly size: number;
}

const defaultPreferences: ListPreferences = { hidden: [], density: "comfortable", size: defaultPageSize };

/** Reads stored preferences. Values that are not valid become defaults. */
export function parsePreferences(stored: unknown): ListPreferences {
  if (typeof stored !== "object" || stored === null) return defaultPreferences;
  const { hidden, density, size } = stored as { readonly [K in keyof ListPreferences]?: unknown };
  return {
    hidden: Array.isArray(hidden) ? hidden.filter((key) => typeof key === "string") : [],
    density: density === "compact" ? "compact" : "comfortable",
    size: pageSizes.find((known) => known === size) ?? defaultPageSize,
  };
}

export function useListPreferences(list: string) {
  const key = `gatehouse.list:${list}`;
  const [preferences, setPreferences] = useState(() => readStored(key));
  const change = (next: Partial<ListPreferences>) => {
    const changed = { ...preferences, ...next };
    setPreferences(changed);
    try {
      localStorage.setItem(key, JSON.stringify(changed));
    } catch {
      // Storage is full or forbidden. The preferences then last as long as the page.
    }
  };
  return [preferences, change] as const;
}

function readStored(key: string): ListPreferences {
  try {
    return parsePreferences(JSON.parse(localStorage.getItem(key) ?? "null"));
  } catch {
    return defaultPreferences;
  }
}
