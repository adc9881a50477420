import { formatIpAddress, type IpAddress } from "@gatehouse/addresses/ip-address";
import { peerAddress } from "@gatehouse/addresses/source-ips";

/** The circumstances of requests that are not made yet. A field that is absent is open: it may have any value, or none. */
export interface OpenCircumstances {
  /** The IP address that requests come from. */
  readonly sourceIp?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country?: string;
  /** Milliseconds since 1970, UTC. */
  readonly now?: number;
}

/** Which parts of the circumstances are open. */
export interface Openness {
  readonly sourceIp: boolean;
  readonly country: boolean;
  readonly now: boolean;
  /** Whether it is open as well who asks, with which device, and for what. */
  readonly request?: true;
}

/** Circumstances with what policies and rules read of them. */
export interface KnownCircumstances {
  readonly open: Openness;
  /** Undefined where it is open, or cannot be read. */
  readonly sourceIp: IpAddress | undefined;
  /** The variable `source` of admission rules, without what is open. */
  readonly source: object;
  /** Means nothing where `now` is open. */
  readonly now: Date;
}

export function knownCircumstances({ sourceIp, country, now }: OpenCircumstances): KnownCircumstances {
  const address = sourceIp === undefined ? undefined : peerAddress(sourceIp);
  return {
    open: { sourceIp: sourceIp === undefined, country: country === undefined, now: now === undefined },
    sourceIp: address,
    source: {
      ...(address === undefined ? {} : { ip: formatIpAddress(address) }),
      ...(country === undefined ? {} : { country }),
    },
    now: new Date(now ?? 0),
  };
}
