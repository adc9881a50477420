/** An error as programs receive it (RFC 6749, section 5.2; RFC 8628, section 3.5). */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token"
  | "temporarily_unavailable";

export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  /** @param description what is wrong, without anything that helps an attacker */
  constructor(code: OAuthErrorCode, description: string) {
    super(description);
    this.name = "OAuthError";
    this.code = code;
  }
}
