/** Holds a value only until the end of the turn of the event loop. */
interface TurnHolder {
  forget(): void;
}

const holders: TurnHolder[] = [];

/** Calls `forget` after the callbacks that are ready in this turn of the event loop. */
export function forgetAfterTurn(holder: TurnHolder): void {
  if (holders.push(holder) > 1) return;
  setImmediate(() => {
    for (const each of holders.splice(0)) each.forget();
  });
}
