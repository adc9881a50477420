/** Whose token it was. */
export interface PresentedGateway {
  readonly tenantId: string;
  readonly gatewayId: string;
  /** SHA-256 in hexadecimal. */
  readonly tokenHash: string;
  /** Milliseconds since 1970; undefined for the gateway's present token. */
  readonly tokenEndsAt: number | undefined;
}
