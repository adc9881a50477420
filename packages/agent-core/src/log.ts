/** What the agent says on standard error, for the journal: one line for each thing that happened. */
export type Log = (message: string) => void;

export const standardErrorLog: Log = (message) => {
  process.stderr.write(`${message.replace(/[^\x20-\x7e]+/g, " ")}\n`);
};
