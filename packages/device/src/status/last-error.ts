import { errorMessage, type Log, type LogFields } from "@gatehouse/agent-core/log";

export interface RememberedError {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The failure, its reason and its remedy. */
  readonly text: string;
}

const longestText = 1000;

/** A log that also remembers the last entry about a failure: one with an error, a refusal or a remedy. */
export class LastError {
  #last: RememberedError | undefined;

  get last(): RememberedError | undefined {
    return this.#last;
  }

  watching(log: Log, now: () => number): Log {
    return (message, fields = {}) => {
      const text = textOf(message, fields);
      if (text !== undefined) this.#last = { at: now(), text };
      log(message, fields);
    };
  }
}

function textOf(message: string, { err, detail, remedy, reason }: LogFields): string | undefined {
  if (err === undefined && detail === undefined && remedy === undefined) return undefined;
  const why = err !== undefined ? errorMessage(err) : (detail ?? reason);
  const first = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
  const sentence = why === undefined ? first : `${first}: ${String(why)}`;
  const ended = /[.!?)]$/.test(sentence) ? sentence : `${sentence}.`;
  return (remedy === undefined ? ended : `${ended} ${String(remedy)}`).slice(0, longestText);
}
