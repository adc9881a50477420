import type { Properties, TransportProtocol } from "../model/facts.ts";

/** The subject of an access request. */
export type Subject =
  | {
      readonly kind: "user";
      readonly userId: string;
      /** If absent, the user has no device, and no condition on devices is met. */
      readonly deviceId?: string;
      /** Attributes that replace the stored ones of the user. */
      readonly attributes?: Properties;
      /** Posture that replaces the stored one of the device. */
      readonly posture?: Properties;
    }
  /** A device, on behalf of its user. */
  | {
      readonly kind: "device";
      readonly deviceId: string;
      readonly attributes?: Properties;
      readonly posture?: Properties;
    }
  /** Traffic that enters at a gateway of a site, without user or device. */
  | { readonly kind: "site"; readonly gatewayId: string };

/** The destination of an access request. */
export type Destination =
  | { readonly kind: "resource"; readonly resourceId: string }
  | {
      readonly kind: "address";
      /** An IP address or a host name, in any notation that people use. */
      readonly address: string;
      /** If absent, any protocol that the resource offers. */
      readonly protocol?: TransportProtocol;
      /** 1 to 65535. Only for protocols with ports. If absent, any port. */
      readonly port?: number;
    };

export interface AccessRequest {
  readonly subject: Subject;
  readonly destination: Destination;
  /** The IP address from which the request comes, if known. */
  readonly sourceIp?: string | undefined;
  /** ISO 3166-1 alpha-2, if known. */
  readonly country?: string | undefined;
  /** The time of the decision, in milliseconds since 1970, UTC. */
  readonly now: number;
}
