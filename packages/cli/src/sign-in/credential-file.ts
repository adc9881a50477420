/**
 * The file with the contexts of this user: the servers to which the command line is signed in, and their tokens. Only
 * the user can read it.
 */
import { readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { replaceFile } from "@gatehouse/server/platform/durable-file";
import { CommandFailure } from "../failure.ts";
import { lockFile } from "./lock-file.ts";

/** A server to which a person signed in. */
export interface Context {
  readonly url: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly tenant: { readonly id: string; readonly name: string };
  readonly accessToken: string;
  readonly accessExpiresAt: string;
  readonly refreshToken: string;
  readonly sessionExpiresAt: string;
}

export interface Credentials {
  readonly version: 1;
  /** The name of the context that commands use. */
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

const none: Credentials = { version: 1, contexts: {} };

/** How long a command waits for the lock, in milliseconds: longer than a lock takes to count as abandoned. */
const lockWaitMs = 90_000;
/** How long a request waits for the lock, in milliseconds. The timeout of a request is 30 s. */
export const lockWaitInRequestMs = 20_000;

/** The file of this user (XDG Base Directory Specification). */
export function credentialPath(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: folder } = environment;
  // The specification ignores relative folders.
  const base = folder?.startsWith("/") === true ? folder : join(homedir(), ".config");
  return join(base, "gatehouse", "credentials.json");
}

/** @throws CommandFailure if the context does not exist */
export function requireContext({ contexts }: Credentials, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context !== undefined) return context;
  throw new CommandFailure(`The context ${JSON.stringify(name)} does not exist.`, {
    details: ["List the contexts with gatehouse context list, or create one with gatehouse login --context."],
  });
}

/** @throws CommandFailure if others can read the file, or if it is damaged */
export function readCredentials(path = credentialPath()): Credentials {
  let text: string;
  try {
    // Windows has no such modes.
    if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0) {
      throw new CommandFailure(`Others can read ${path}, which contains tokens.`, {
        details: [`Run chmod 600 ${path}, and sign in again with gatehouse login.`],
      });
    }
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return none;
    throw error;
  }
  const value = parsed(text);
  if (value !== undefined) return value;
  throw new CommandFailure(`${path} is damaged.`, { details: ["Delete it, and run gatehouse login."] });
}

/**
 * Changes the file while no other process does.
 *
 * @param change returns the new content, or undefined to change nothing
 * @param waitMs how long to wait for other processes, in milliseconds
 * @throws CommandFailure if another process does not end its change in time
 */
export async function changeCredentials(
  change: (before: Credentials) => Credentials | undefined | Promise<Credentials | undefined>,
  waitMs = lockWaitMs,
  path = credentialPath(),
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const release = await lockFile(`${path}.lock`, waitMs);
  try {
    const after = await change(readCredentials(path));
    if (after !== undefined) await replaceFile(path, `${JSON.stringify(after, undefined, 2)}\n`);
  } finally {
    await release();
  }
}

function parsed(text: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isCredentials(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isCredentials(value: unknown): value is Credentials {
  if (!isObject(value) || value.version !== 1 || !isObject(value.contexts)) return false;
  if (value.current !== undefined && typeof value.current !== "string") return false;
  return Object.values(value.contexts).every(isContext);
}

function isContext(value: unknown): value is Context {
  if (!isObject(value) || !isObject(value.user) || !isObject(value.tenant)) return false;
  const { user, tenant, url, accessToken, accessExpiresAt, refreshToken, sessionExpiresAt } = value;
  const texts = [user.id, user.email, tenant.id, tenant.name, url, accessToken, refreshToken, sessionExpiresAt];
  return [...texts, accessExpiresAt].every((text) => typeof text === "string");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
