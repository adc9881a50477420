/** The pages of the console, which `main.tsx` passes in: `app` does not import pages. */
import { createContext, useContext } from "react";
import type { PageSet } from "./page-set.ts";

const PageSets = createContext<readonly PageSet[]>([]);

export const PageSetsProvider = PageSets.Provider;

/** Every page, in the order of the navigation. */
export function usePageSets(): readonly PageSet[] {
  return useContext(PageSets);
}
