/** The key that encrypts stored secrets during benchmarks. It protects nothing. */
export const benchMasterKey = Buffer.alloc(32, 7);
