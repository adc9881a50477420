/** Public API of this feature: signing in. */
export { PasskeySignIn } from "./people-sign-in.ts";
export { issueRecoveryCode } from "./recovery-codes.ts";
export { acceptChallenge, insertSignInAttempt, usersWithUnauditedCodes } from "./sign-in.queries.ts";
