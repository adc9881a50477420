/**
 * Words that text of Gatehouse does not use, with their replacements. docs/glossary.md defines the terms that replace
 * private ones. Patterns are regular expressions without flags; they ignore case unless they contain a capital letter,
 * and match whole words.
 *
 * @type {readonly (readonly [pattern: string, replacement: string])[]}
 */
export const terminology = [
  // Words of the former vocabulary.
  ["anew", "again, or the prefix re-"],
  ["whoever|whomever", "a noun, such as the caller"],
  ["askers?", "principal"],
  ["rehears(?:e|es|ed|al|als)", "dry run"],
  ["disown(?:s|ed)?", "orphan, or remove references"],
  ["mend(?:s|ed|ing)?", "repair, reconcile or fix"],
  ["patience", "evaluation budget, or timeout"],
  ["strangers?", "unauthenticated connections"],
  ["senseless", "non-routable"],
  ["chosen way|known ways", "selected path, or routes"],
  ["tells? of|told", "notify, report or state"],
  ["news", "changes or events"],
  ["worked off", "resolved or fixed"],
  ["(?:find|finds|found) out", "determine"],
  ["look(?:s|ed|ing)? after", "reconcile, maintain or support"],
  ["of before", "previous"],
  ["the one (?:before|after)", "the previous, or the next"],
  ["but for", "except for"],
  ["(?<!there )(?:is|are|was|were) no(?!\\s+(?:longer|more|less|other)\\b)", "is not a, or invalid"],
  ["stands? there", "is, or remains"],
  ["if need be", "if necessary"],
  ["thereby|therein|thereof|hitherto|heretofore", "a shorter sentence"],
  // One spelling for each name.
  ["Wireguard|wireGuard", "WireGuard"],
  ["Postgres|Postgresql|PostgreSql", "PostgreSQL"],
  ["Javascript|Typescript", "JavaScript or TypeScript"],
  ["Github", "GitHub"],
  ["Nodejs|NodeJS|node\\.js", "Node.js"],
  ["Websockets?|Web sockets?", "WebSocket"],
  ["Openapi|OpenApi", "OpenAPI"],
  ["enrollments?|enrolls?", "enrolment, enrol"],
  ["log(?:s|ged)? in", "sign in"],
  ["whitelist(?:s|ed)?|blacklist(?:s|ed)?", "allowlist or denylist"],
  ["in order to", "to"],
  ["utili[sz]e[sd]?", "use"],
];
