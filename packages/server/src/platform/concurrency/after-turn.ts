/** Something that holds a value only until the end of the turn of the event loop. */
interface TurnHolder {
  forget(): void;
}

const holders: TurnHolder[] = [];

/** Calls `forget` when everything that is ready in this turn of the event loop was done. */
export function forgetAfterTurn(holder: TurnHolder): void {
  if (holders.push(holder) > 1) return;
  setImmediate(() => {
    for (const each of holders.splice(0)) each.forget();
  });
}
