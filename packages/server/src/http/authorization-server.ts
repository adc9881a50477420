/** The interface between the routes of the authorization server and features/authorizations, which implements it. */
import type { Caller } from "./caller.ts";

/** The origin of a request. */
export interface AuthorizationContext {
  readonly requestId: string;
  readonly address: string;
  /** The block of addresses that is counted: for IPv6, the /64. */
  readonly addressGroup: string;
  readonly userAgent: string | undefined;
}

/** The request of a program in a browser (RFC 6749, section 4.1.1; RFC 7636; RFC 9470), as the page received it. */
export interface AuthorizationRequest {
  readonly response_type: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly state: string;
  readonly code_challenge: string;
  readonly code_challenge_method: string;
  /** The maximum age of the person's authentication, in seconds. */
  readonly max_age?: string;
  /** The machine, according to the program. */
  readonly machine?: string;
}

/** The program that asks, as the person sees it. */
export interface AskingProgram {
  readonly name: string;
  readonly machine: string;
}

/** A request of a program without a browser, as the person sees it. */
export interface DeviceRequestInfo extends AskingProgram {
  /** The address from which the program asked. */
  readonly address: string;
  /** Whether the browser has the same address. */
  readonly sameAddress: boolean;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** Present if approving enrols the machine as a device of the person. */
  readonly device?: {
    readonly os: string;
    readonly keyFingerprint: string;
    /** Whether the person signs in again on a device that is enrolled. */
    readonly isEnrolled: boolean;
  };
}

/** The device that a program asks to enrol. */
export interface EnrollingMachine {
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly hardwareId: string;
  /** The WireGuard public key: 32 bytes in base64. */
  readonly publicKey: string;
  /** The enrolled device on which its user signs in again. */
  readonly renews?: { readonly tenantId: string; readonly deviceId: string };
}

export interface DeviceRequest {
  readonly clientId: string;
  readonly machine: string;
  readonly maxAge: number | undefined;
  /** Present if the program asks to enrol the machine. */
  readonly device: EnrollingMachine | undefined;
  /** Present if a user signs in again on an enrolled device: the token of its agent. */
  readonly deviceToken: string | undefined;
}

export interface DeviceCodes {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** The answer of the token endpoint. */
export interface IssuedTokens {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly refresh_token: string;
  /** The end of the session, unless it ends earlier. */
  readonly session_expires_at: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly tenant: { readonly id: string; readonly name: string };
}

/** The answer of the token endpoint to a program whose machine was enrolled, or on whose machine the user signed in. */
export interface IssuedDevice {
  /** The token of the device's agent; `unchanged` if the device was enrolled before. */
  readonly access_token: string;
  readonly token_type: "Bearer";
  /** `approval` is present if the device waits for an administrator. */
  readonly device: {
    readonly id: string;
    readonly name: string;
    readonly approval?: string;
    /** When the session of the device ends; absent if the tenant sets no lifetime. */
    readonly session_ends_at?: string;
  };
  readonly user: { readonly id: string; readonly email: string };
  readonly tenant: { readonly id: string; readonly name: string };
}

export type TokenRequest =
  | {
      readonly grant: "authorization_code";
      readonly clientId: string;
      readonly code: string;
      readonly redirectUri: string;
      readonly verifier: string;
    }
  | { readonly grant: "refresh_token"; readonly clientId: string; readonly refreshToken: string }
  | { readonly grant: "device_code"; readonly clientId: string; readonly deviceCode: string }
  | {
      readonly grant: "enrolment_key";
      readonly clientId: string;
      readonly key: string;
      readonly machine: string;
      readonly device: EnrollingMachine;
    };

export interface AuthorizationServer {
  /** The address at which browsers and programs reach the server. It is the issuer. */
  readonly issuer: string;
  /** Describes the request to the person. @throws AppError invalid_parameter */
  describe(request: AuthorizationRequest): AskingProgram;
  /**
   * Answers the request for the person.
   *
   * @returns the address at which the program waits, with the answer
   * @throws AppError invalid_parameter, person_required, recent_authentication_required
   */
  answer(
    caller: Caller,
    context: AuthorizationContext,
    request: AuthorizationRequest,
    approve: boolean,
  ): Promise<string>;
  /** @throws OAuthError */
  requestDevice(context: AuthorizationContext, request: DeviceRequest): Promise<DeviceCodes>;
  /** @throws AppError not_found, person_required, too_many_failed_authentications */
  findDeviceRequest(caller: Caller, context: AuthorizationContext, userCode: string): Promise<DeviceRequestInfo>;
  /**
   * Answers the request. Enrols the machine if the program asks for that.
   *
   * @throws AppError as `findDeviceRequest`; recent_authentication_required, and the errors of an enrolment
   */
  answerDeviceRequest(caller: Caller, context: AuthorizationContext, userCode: string, approve: boolean): Promise<void>;
  /** @throws OAuthError */
  issue(context: AuthorizationContext, request: TokenRequest): Promise<IssuedTokens | IssuedDevice>;
  /** Ends the session of a token. Does nothing for unknown tokens. @throws OAuthError invalid_client */
  revoke(clientId: string, token: string): Promise<void>;
}
