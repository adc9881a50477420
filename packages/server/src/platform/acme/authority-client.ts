/**
 * The HTTP client of `acme-client`. The library has one for the process, so its settings apply to all orders.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Agent } from "node:https";
import { axios } from "acme-client";

const requestTimeoutMs = 30_000;
/** Longer responses fail the order. */
const maxAnswerBytes = 1024 * 1024;
const signals = new AsyncLocalStorage<AbortSignal>();

axios.defaults.timeout = requestTimeoutMs;
axios.defaults.maxContentLength = maxAnswerBytes;
axios.interceptors.request.use((config) => {
  const signal = signals.getStore();
  return signal === undefined ? config : { ...config, signal };
});
// The library's own handler repeats requests, and waits for as long as the authority says. Instead, the order fails,
// and is repeated as a whole.
axios.interceptors.response.clear();
axios.interceptors.response.use(
  null,
  // The library itself looks at the status of answers.
  (error: { readonly response?: unknown }) => error.response ?? Promise.reject(error),
);

/**
 * Trusts an authority with a private certificate.
 *
 * @param ca PEM; undefined for the authorities that the system trusts
 */
export function trustAuthority(ca: Buffer | undefined): void {
  if (ca !== undefined) axios.defaults.httpsAgent = new Agent({ ca });
}

/** Ends the requests of a piece of work once the signal is aborted. */
export function withSignal<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return signals.run(signal, work);
}
