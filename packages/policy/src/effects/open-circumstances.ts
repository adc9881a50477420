import { formatIpAddress, type IpAddress } from "@gatehouse/addresses/ip-address";
import { knownSource } from "../model/source-address.ts";

/** The circumstances of future requests. An absent field is open: it may have any value or none. */
export interface OpenCircumstances {
  /** The IP address from which requests come. */
  readonly sourceIp?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country?: string;
  /** Milliseconds since 1970, UTC. */
  readonly now?: number;
  /** The open parts of the device. If absent, the device and its session are known. */
  readonly device?: OpenDevice;
}

/** The open parts of a device. */
export interface OpenDevice {
  /** The names of known posture entries. All others are open. */
  readonly knownPosture: ReadonlySet<string>;
  /** Whether the session and the other fields are open too, except for `agent`. */
  readonly isHypothetical: boolean;
}

/** The open parts of the circumstances. */
export interface Openness {
  readonly sourceIp: boolean;
  readonly country: boolean;
  readonly now: boolean;
  readonly device?: OpenDevice;
  /** Whether the subject, the device and the destination are open too. */
  readonly request?: true;
}

/** Circumstances in the form that policies and rules read. */
export interface KnownCircumstances {
  readonly open: Openness;
  /** Undefined if open, unknown or invalid. */
  readonly sourceIp: IpAddress | undefined;
  /** The variable `source` of admission rules, without open fields. */
  readonly source: object;
  /** Meaningless if `now` is open. */
  readonly now: Date;
}

export function knownCircumstances(circumstances: OpenCircumstances): KnownCircumstances {
  const { sourceIp, country, now, device } = circumstances;
  const address = knownSource(sourceIp);
  return {
    open: {
      sourceIp: sourceIp === undefined,
      country: country === undefined,
      now: now === undefined,
      ...(device === undefined ? {} : { device }),
    },
    sourceIp: address,
    source: {
      ...(address === undefined ? {} : { ip: formatIpAddress(address) }),
      ...(country === undefined ? {} : { country }),
    },
    now: new Date(now ?? 0),
  };
}
