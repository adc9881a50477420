/**
 * The state that an agent resumes: the one in the state folder, or a later copy in the runtime folder. A faulty copy
 * never prevents a start.
 */
import { joinedTrust, signerOfCopy } from "@gatehouse/agent-core/configuration/copied-trust";
import { errorMessage, type Log } from "@gatehouse/agent-core/log";
import { compareOrder } from "@gatehouse/agent-protocol/link/envelope";
import type { RuntimeCopy } from "./runtime-copy.ts";
import type { StateFolder } from "./state-folder.ts";
import type { ValidatedConfiguration } from "./validate-configuration.ts";
import { nameOf, refusalOf, type Trust } from "./verify-configuration.ts";

/** A configuration that was read at a start. */
export interface Resumable {
  readonly read: ValidatedConfiguration;
  readonly isCopy: boolean;
}

export interface StoredState {
  /** Undefined: no key is pinned yet. */
  readonly trust: Trust | undefined;
  /** Whether the state folder has the trust. */
  readonly isTrustStored: boolean;
  /** The configurations that may be resumed, the latest first. They are not verified. */
  readonly configurations: readonly Resumable[];
}

export interface StateSources {
  readonly folder: StateFolder;
  readonly copy: RuntimeCopy;
  readonly log: Log;
}

/**
 * Reads the state folder and the copy. Removes the copy if the state folder has no pinned gateway.
 *
 * @param now milliseconds since 1970
 */
export async function readStoredState(sources: StateSources, now: number): Promise<StoredState> {
  const stored = await sources.folder.trust();
  const read = await sources.folder.configuration();
  const own: readonly Resumable[] = read === undefined ? [] : [{ read, isCopy: false }];
  const copied = await readCopy(sources, stored, read, now);
  if (copied === undefined) return { trust: stored, isTrustStored: true, configurations: own };
  const configurations = copied.read === undefined ? own : [...own, { read: copied.read, isCopy: true }];
  return {
    trust: copied.trust,
    isTrustStored: copied.trust === stored,
    configurations: configurations.toSorted((a, b) => order(b, a)),
  };
}

interface Copied {
  readonly trust: Trust;
  /** Undefined: the copy has no configuration, or an earlier one. */
  readonly read: ValidatedConfiguration | undefined;
}

/** @returns undefined if there is no copy for this gateway */
async function readCopy(
  { copy, log }: StateSources,
  stored: Trust | undefined,
  own: ValidatedConfiguration | undefined,
  now: number,
) {
  try {
    if (stored === undefined || (stored.gateway === undefined && own === undefined)) {
      if (await copy.remove()) log("removed the copy in the runtime folder, because the state folder is new");
      return undefined;
    }
    const read = await copy.read();
    const pinned = withGateway(stored, own, now);
    const joined = read === undefined ? undefined : join(pinned, read.trust, read.configuration, now);
    if (joined === undefined || "trust" in joined) return joined;
    log("ignored the copy in the runtime folder", { detail: joined.problem });
  } catch (error) {
    log("ignored the copy in the runtime folder", { detail: errorMessage(error) });
  }
  return undefined;
}

/**
 * Returns the trust with the gateway of the stored configuration. The first configuration may have been stored without
 * its gateway, because the disk became full in between.
 */
function withGateway(stored: Trust, own: ValidatedConfiguration | undefined, now: number): Trust {
  if (stored.gateway !== undefined || own === undefined || "problem" in own) return stored;
  const refusal = refusalOf(own.configuration, stored, now);
  // The signature is checked first.
  if (refusal !== undefined && refusal.reason !== "expired") return stored;
  const { gateway, tenant } = own.configuration.envelope.header;
  return { ...stored, gateway, tenant };
}

/** Returns what the copy adds to the stored trust, or why it is ignored. */
function join(
  stored: Trust,
  copy: Trust,
  read: ValidatedConfiguration | undefined,
  now: number,
): Copied | { readonly problem: string } {
  if (copy.gateway !== stored.gateway || copy.tenant !== stored.tenant) {
    return { problem: `It belongs to the gateway ${copy.gateway} of tenant ${copy.tenant}.` };
  }
  const joined = withFormerKeys(joinedTrust(stored, copy), stored);
  if (joined === undefined) return { problem: "The pinned key does not lead to its signing key." };
  if (read === undefined) return { trust: joined, read };
  if ("problem" in read) return read;
  const name = nameOf(read.configuration.envelope.header);
  const { latest } = stored;
  if (name.hash === latest?.hash) return { trust: joined, read };
  if (latest !== undefined && compareOrder(name, latest) <= 0) return { trust: joined, read: undefined };
  const signer = signerOfCopy(name, { stored, copy, joined });
  const refusal = refusalOf(read.configuration, { ...joined, signingKey: signer }, now);
  // The signature is checked first. A later configuration supersedes the stored one even if it has expired, or its
  // format is unknown.
  if (refusal !== undefined && refusal.reason !== "expired" && refusal.reason !== "unknown_format") {
    return { problem: refusal.message };
  }
  const latestSignedBy = signer === joined.signingKey ? undefined : signer;
  return { trust: { ...joined, latestSignedBy, latest: name }, read };
}

function withFormerKeys(joined: Trust | undefined, stored: Trust): Trust | undefined {
  if (joined === undefined || joined === stored) return joined;
  const former = [...(stored.formerKeys ?? []), ...(joined.handovers ?? []).map(({ from }) => from)];
  return { ...joined, formerKeys: [...new Set(former)] };
}

/** Compares two configurations: positive if the first is later. An unreadable configuration counts as the earliest. */
function order(a: Resumable, b: Resumable): number {
  if ("problem" in a.read) return -1;
  if ("problem" in b.read) return 1;
  return compareOrder(a.read.configuration.envelope.header, b.read.configuration.envelope.header);
}
