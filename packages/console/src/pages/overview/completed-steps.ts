/** Remembers in the browser for which tenants the checklist of the first run was complete. */

const keyOf = (tenant: string) => `gatehouse.first-steps:${tenant}`;

export function areStepsCompleted(tenant: string): boolean {
  try {
    return localStorage.getItem(keyOf(tenant)) !== null;
  } catch {
    return false;
  }
}

export function rememberCompletedSteps(tenant: string): void {
  try {
    localStorage.setItem(keyOf(tenant), "complete");
  } catch {
    // Storage is full or forbidden. The records then decide again when the overview opens.
  }
}
