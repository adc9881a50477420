import type { Properties, TransportProtocol } from "../model/facts.ts";

/** Who asks. */
export type Subject =
  | {
      readonly kind: "user";
      readonly userId: string;
      /** Absent: the user without any device, who meets no condition on devices. */
      readonly deviceId?: string;
      /** In place of the user's stored attributes. */
      readonly attributes?: Properties;
      /** In place of the device's stored posture. */
      readonly posture?: Properties;
    }
  /** A device, for the user whom it belongs to. */
  | {
      readonly kind: "device";
      readonly deviceId: string;
      readonly attributes?: Properties;
      readonly posture?: Properties;
    }
  /** Traffic that enters at a gateway of a site: no user, no device. */
  | { readonly kind: "site"; readonly gatewayId: string };

/** What is asked for. */
export type Destination =
  | { readonly kind: "resource"; readonly resourceId: string }
  | {
      readonly kind: "address";
      /** An IP address or a host name, as people write it. */
      readonly address: string;
      /** Absent: any that the resource has. */
      readonly protocol?: TransportProtocol;
      /** 1–65535, of a protocol that has ports; absent: any. */
      readonly port?: number;
    };

export interface AccessRequest {
  readonly subject: Subject;
  readonly destination: Destination;
  /** The IP address that the request comes from, where it is known. */
  readonly sourceIp?: string | undefined;
  /** ISO 3166-1 alpha-2, where it is known. */
  readonly country?: string | undefined;
  /** Milliseconds since 1970, UTC: the moment that the decision is for. */
  readonly now: number;
}
