/** The part of autocannon's interface that is used here. Version 9 has no types. */
declare module "autocannon" {
  interface Options {
    readonly url: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly connections: number;
    /** Requests of each connection per second. */
    readonly connectionRate?: number;
    /** Seconds. */
    readonly duration: number;
    readonly body?: string;
    /** Replaces `[<id>]` in the body. */
    readonly idReplacement?: boolean;
    readonly setupClient?: (client: { setRequests(requests: readonly object[]): void }) => void;
  }
  interface Result {
    readonly requests: { readonly average: number; readonly total: number };
    /** Milliseconds. */
    readonly latency: { readonly p50: number; readonly p99: number };
    readonly non2xx: number;
    readonly errors: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
