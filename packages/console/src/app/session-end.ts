/** The end of the session while a page is open: requests wait for it, and the sign-in dialog ends the wait. */

let waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

/** Resolves after the next sign-in. */
export function nextSignIn(): Promise<void> {
  if (waiting === undefined) {
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    waiting = { promise, resolve };
    notify();
  }
  return waiting.promise;
}

/** Resumes the requests that wait for a session. */
export function resumeRequests(): void {
  const { resolve } = waiting ?? {};
  waiting = undefined;
  notify();
  resolve?.();
}

export const sessionEnd = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  hasEnded: (): boolean => waiting !== undefined,
};
