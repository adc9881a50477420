/** The face of this feature: signing in. */
export { PasskeySignIn } from "./people-sign-in.ts";
export { issueRecoveryCode } from "./recovery-codes.ts";
export { acceptChallenge, insertSignInAttempt } from "./sign-in.queries.ts";
