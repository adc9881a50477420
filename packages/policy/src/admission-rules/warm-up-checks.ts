import { checkRuleText } from "./check-rule.ts";

/** Rounds after which the runtime has optimized the code of the checks. */
const rounds = 8;

/** Rules near the limits. Each uses different parts of the language. */
const rules: readonly string[] = [
  `${"(user.a == 1 || ".repeat(35)}true${")".repeat(35)}`,
  `user.x in [${"'abc', ".repeat(250)}'x'] && has(device.posture.disk)`,
  `${"user.email.matches('a{100}') || ".repeat(18)}true`,
  "user.groups.exists(g, g.startsWith('a')) && session.age < duration('8h') && now > timestamp('2026-01-01T00:00:00Z')",
  "user.misspelt.(",
];

/**
 * Checks sample rules, so that the runtime optimizes the code before a tenant's rule is checked. Otherwise, the first
 * checks block the event loop for more than 10 ms. Takes about 0.3 s.
 */
export function warmUpRuleChecks(): void {
  for (let round = 0; round < rounds; round += 1) for (const rule of rules) checkRuleText(rule);
}
