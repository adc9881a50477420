/** A module as dependency-cruiser lists it. Paths are relative to the root of the repository. */
export interface CruisedModule {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}

export function folderCycles(
  modules: readonly CruisedModule[],
): readonly { readonly from: string; readonly to: string }[];
