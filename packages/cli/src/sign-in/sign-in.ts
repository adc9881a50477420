/** Signs the command line in, and keeps its tokens current. */
import { CommandFailure } from "../failure.ts";
import { writeError, writeErrorLines } from "../output.ts";
import type { AuthorizationClient } from "./authorization-client.ts";
import { type Context, changeCredentials, readCredentials, requireContext } from "./credential-file.ts";
import { hasBrowser, openBrowser } from "./open-browser.ts";

/** Loaded on demand, so that commands that need no new tokens start faster. */
export async function connectTo(url: string): Promise<AuthorizationClient> {
  const { AuthorizationClient: Client } = await import("./authorization-client.ts");
  return Client.connect(url);
}

/** A token that expires sooner is replaced before it is used, in milliseconds. */
const refreshMarginMs = 30_000;
/** The age of an authentication that suffices for a confirmation, in seconds. Less than the server's limit of 900. */
const freshSeconds = 600;

export interface SignInOptions {
  readonly url: string;
  /** The name of the context; by default, the host of the server. */
  readonly name?: string | undefined;
  /** Whether to use a browser on this machine; by default, if there is one. */
  readonly browser?: boolean | undefined;
  /** Whether the person must have authenticated recently. */
  readonly fresh?: boolean | undefined;
}

export interface SignedInContext {
  readonly name: string;
  readonly context: Context;
}

/** Signs in, and makes the context current. The session that the context had before is ended. */
export async function signIn({ url, name, browser, fresh }: SignInOptions): Promise<SignedInContext> {
  const client = await connectTo(url);
  const request = { maxAge: fresh === true ? freshSeconds : undefined };
  const context =
    (browser ?? hasBrowser())
      ? await client.signInWithBrowser((address) => openBrowser(address), writeErrorLines, request)
      : await client.signInWithCode(writeErrorLines, request);
  const stored = name ?? new URL(client.url).host;
  let previous: Context | undefined;
  await changeCredentials((before) => {
    previous = before.contexts[stored];
    return { ...before, current: stored, contexts: { ...before.contexts, [stored]: context } };
  });
  if (previous?.url === client.url) await client.signOut(previous).catch(() => undefined);
  return { name: stored, context };
}

/** The session of a context, whose tokens are replaced when they expire. */
export class StoredSession {
  readonly #name: string;
  #context: Context;

  constructor({ name, context }: SignedInContext) {
    this.#name = name;
    this.#context = context;
  }

  get url(): string {
    return this.#context.url;
  }

  /**
   * @param waitMs how long to wait for other processes, in milliseconds
   * @throws CommandFailure if the session is over
   */
  async accessToken(waitMs?: number): Promise<string> {
    if (!isCurrent(this.#context) && !(await this.#renew(isCurrent, waitMs))) throw signedOut(this.#context.url);
    return this.#context.accessToken;
  }

  /**
   * Replaces a token that the server refused, unless another process has replaced it. The clock of this machine can be
   * wrong, so that the token does not look expired.
   *
   * @param waitMs how long to wait for other processes, in milliseconds
   * @returns undefined if the session is over
   */
  async replaced(refused: string, waitMs: number): Promise<string | undefined> {
    const isRenewed = await this.#renew(({ accessToken }) => accessToken !== refused, waitMs);
    return isRenewed ? this.#context.accessToken : undefined;
  }

  /**
   * @param isUsable whether the stored tokens need not be replaced
   * @returns false if the session is over
   */
  async #renew(isUsable: (stored: Context) => boolean, waitMs?: number): Promise<boolean> {
    let isOver = false;
    // Each refresh token is accepted once, so only one process uses it.
    await changeCredentials(async (before) => {
      const stored = before.contexts[this.#name];
      if (stored === undefined) {
        isOver = true;
        return undefined;
      }
      if (isUsable(stored)) {
        this.#context = stored;
        return undefined;
      }
      const client = await connectTo(stored.url);
      const next = await client.refresh(stored);
      if (next === undefined) {
        isOver = true;
        return undefined;
      }
      this.#context = next;
      return { ...before, contexts: { ...before.contexts, [this.#name]: next } };
    }, waitMs);
    return !isOver;
  }

  /** Asks the person to authenticate again, for a dangerous operation. */
  async confirm(): Promise<void> {
    writeError("This operation requires that you confirm your identity.\n");
    const { context } = await signIn({ url: this.#context.url, name: this.#name, fresh: true });
    this.#context = context;
  }
}

/** @throws CommandFailure if the context does not exist */
export function findContext({
  name,
  url,
}: {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
}): SignedInContext | undefined {
  const credentials = readCredentials();
  if (name !== undefined) return { name, context: requireContext(credentials, name) };
  const { contexts, current } = credentials;
  const origin = url === undefined || !URL.canParse(url) ? undefined : new URL(url).origin;
  // The current context comes first.
  const names = [...(current === undefined ? [] : [current]), ...(url === undefined ? [] : Object.keys(contexts))];
  for (const candidate of names) {
    const context = contexts[candidate];
    if (context !== undefined && (url === undefined || context.url === origin)) return { name: candidate, context };
  }
  return undefined;
}

function isCurrent({ accessExpiresAt }: Context): boolean {
  return Date.parse(accessExpiresAt) - Date.now() > refreshMarginMs;
}

export function signedOut(url: string): CommandFailure {
  return new CommandFailure(`Your session at ${url} has ended.`, { details: [`Run gatehouse login --url ${url}.`] });
}
