/** Confirmation of the person's identity for dangerous operations. Requests wait, and the dialog ends the wait. */

let waiting: { readonly promise: Promise<boolean>; readonly resolve: (confirmed: boolean) => void } | undefined;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

/** Resolves once the person has confirmed, or with false if the person cancels. */
export function nextConfirmation(): Promise<boolean> {
  if (waiting === undefined) {
    let resolve: (confirmed: boolean) => void = () => undefined;
    const promise = new Promise<boolean>((settle) => {
      resolve = settle;
    });
    waiting = { promise, resolve };
    notify();
  }
  return waiting.promise;
}

/** Ends the wait of the requests. */
export function endConfirmation(confirmed: boolean): void {
  const { resolve } = waiting ?? {};
  waiting = undefined;
  notify();
  resolve?.(confirmed);
}

export const stepUp = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isWaiting: (): boolean => waiting !== undefined,
};

/** Repeats a call after the person has confirmed. If the person cancels, the call fails with its own error. */
export async function withConfirmation<T>(call: () => Promise<T>, isAsked: (error: unknown) => boolean): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isAsked(error) || !(await nextConfirmation())) throw error;
    return call();
  }
}
