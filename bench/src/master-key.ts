/** The key that encrypts stored secrets while benchmarks run, and guards nothing. */
export const benchMasterKey = Buffer.alloc(32, 7);
