/** Whether the session has ended under the page, for calls that wait and for the dialog that ends their waiting. */

let waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Resolves when somebody has signed in again. */
export function signedInAgain(): Promise<void> {
  if (waiting === undefined) {
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    waiting = { promise, resolve };
    tell();
  }
  return waiting.promise;
}

export function goOn(): void {
  const { resolve } = waiting ?? {};
  waiting = undefined;
  tell();
  resolve?.();
}

export const sessionEnd = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  hasEnded: (): boolean => waiting !== undefined,
};
