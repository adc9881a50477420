/**
 * Makes the global `fetch` of this process fail. It reaches any address, follows redirects and reads responses of any
 * size. A library could use it with a URL that a client chose (docs/decisions/0261-attestations-and-own-requests.md).
 */
export function forbidGlobalFetch(): void {
  globalThis.fetch = async () => {
    throw new Error("The global fetch is disabled in this process. Use platform/outbound.");
  };
}
