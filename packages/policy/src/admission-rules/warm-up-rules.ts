import { checkRuleText } from "./check-rule.ts";
import { prepareRule, type RuleContext } from "./evaluate-rule.ts";

/** Rounds after which the runtime has optimized the code of the checks. */
const checkRounds = 8;

/** Rules near the limits. Each uses different parts of the language. */
const checkedRules: readonly string[] = [
  `${"(user.a == 1 || ".repeat(35)}true${")".repeat(35)}`,
  `user.x in [${"'abc', ".repeat(250)}'x'] && has(device.posture.disk)`,
  `${"user.email.matches('a{100}') || ".repeat(18)}true`,
  "user.groups.exists(g, g.startsWith('a')) && session.age < duration('8h') && now > timestamp('2026-01-01T00:00:00Z')",
  "user.misspelt.(",
];

/** Rounds after which the runtime has optimized the code of evaluations. */
const evaluationRounds = 4;

/** Rules whose parts run hundreds of times in each evaluation. */
const evaluatedRules: readonly string[] = [
  "user.groups.exists(g, ['a', 'b', 'c', 'd'].exists(h, g == h || timestamp('2026-01-01T00:00:00Z') == now))",
  "user.groups.all(g, g.startsWith('group') && g.matches('^[a-z]+ [0-9]+$') && size(g) < 100)",
  "now.getHours('Europe/Berlin') < 24 && session.age >= duration('0s') && session.methods.exists(m, m == 'oidc')",
];

const context: RuleContext = {
  user: { email: "user@example.com", groups: Array.from({ length: 100 }, (_, index) => `group ${index}`) },
  session: { authenticatedAt: 0, methods: ["oidc"] },
  source: {},
  now: new Date(0),
};

/**
 * Checks and evaluates sample rules, so that the runtime optimizes the code before a tenant's rule runs. Otherwise, the
 * first checks and evaluations block the event loop for more than 10 ms. Takes about 0.2 s.
 */
export function warmUpRules(): void {
  for (let round = 0; round < checkRounds; round += 1) for (const rule of checkedRules) checkRuleText(rule);
  const prepared = evaluatedRules.map(prepareRule);
  for (let round = 0; round < evaluationRounds; round += 1) for (const { evaluate } of prepared) evaluate(context);
}
