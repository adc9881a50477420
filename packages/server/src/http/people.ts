/** The interface between the console's routes of sign-in and features/sign-in, which implements it. */
import type { Caller, SessionInfo } from "./caller.ts";

/** A request of a browser that signs in, or that proves a person's presence. */
export interface SignInContext {
  readonly requestId: string;
  readonly address: string;
  readonly userAgent: string | undefined;
  /** The challenge that the browser holds; undefined if it holds none. */
  readonly ceremony: string | undefined;
}

/** Options for the browser's WebAuthn functions, and the challenge for the browser's cookie. */
export interface BegunCeremony {
  readonly options: object;
  readonly ceremony: string;
}

export interface SignedIn {
  /** The content of the session's cookie, which is shown once. */
  readonly token: string;
  readonly info: SessionInfo;
}

/** The person whom an enrolment link is for. */
export interface EnrollingPerson {
  readonly email: string;
  readonly tenantName: string;
}

/** A person of the example tenant, as whom anyone can sign in. */
export interface DemoPerson {
  readonly id: string;
  readonly email: string;
  readonly title: string;
}

/** Signing in without a credential, in demo mode only. */
export interface DemoSignIn {
  people(): Promise<readonly DemoPerson[]>;
  /** @throws AppError sign_in_failed */
  signIn(context: SignInContext, userId: string): Promise<SignedIn>;
}

export interface PeopleSignIn {
  /** The address that passkeys are bound to. */
  readonly publicUrl: string;
  beginSignIn(): Promise<BegunCeremony>;
  /** @throws AppError sign_in_failed */
  signIn(context: SignInContext, response: unknown): Promise<SignedIn>;
  /** @throws AppError sign_in_failed, enrolment_link_outgrown */
  beginEnrolment(
    context: SignInContext,
    linkToken: string,
  ): Promise<BegunCeremony & { readonly person: EnrollingPerson }>;
  /** @throws AppError sign_in_failed, enrolment_link_outgrown, passkey_not_accepted */
  enrol(
    context: SignInContext,
    enrolment: { readonly token: string; readonly name: string; readonly response: unknown },
  ): Promise<SignedIn>;
  /** @throws AppError sign_in_failed */
  recover(context: SignInContext, code: string): Promise<SignedIn & { readonly recoveryCode: string }>;
  /** @throws AppError person_required, recent_authentication_required */
  beginRegistration(caller: Caller): Promise<BegunCeremony>;
  /** @throws AppError person_required, recent_authentication_required, passkey_not_accepted */
  register(
    caller: Caller,
    context: SignInContext,
    passkey: { readonly name: string; readonly response: unknown },
  ): Promise<object>;
  /** @throws AppError person_required */
  beginAuthentication(caller: Caller): Promise<BegunCeremony>;
  /** @throws AppError person_required, sign_in_failed */
  authenticate(caller: Caller, context: SignInContext, response: unknown): Promise<void>;
  /** @throws AppError person_required, recent_authentication_required */
  renewRecoveryCode(caller: Caller, context: SignInContext): Promise<string>;
}
