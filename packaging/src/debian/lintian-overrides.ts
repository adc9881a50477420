import type { Artefact } from "../artefacts/artefact.ts";

const postgresFindings = [
  "custom-library-search-path",
  "library-not-linked-against-libc",
  "shared-library-lacks-prerequisites",
];

/** Findings of lintian that follow from decisions, with the reason as a comment. */
export function lintianOverrides({ name, includesPostgres, environmentFile }: Artefact): string {
  const program = `usr/lib/${name}`;
  const lines = [
    "# Node.js and PostgreSQL are included as npm distributes them, so that their hashes can be verified.",
    `${name}: unstripped-binary-or-object *${program}/*`,
    `${name}: embedded-library *${program}/*`,
    `${name}: hardening-no-pie *${program}/*`,
    ...(includesPostgres ? postgresFindings.map((tag) => `${name}: ${tag} *${program}/*`) : []),
    ...(name === "gatehouse"
      ? [
          "# One function, which csv-stringify names so.",
          `${name}: embedded-javascript-library please use libjs-underscore *csv-stringify/lib/utils/underscore.js*`,
          "# Another library with a file of that name, which form-data needs.",
          `${name}: embedded-javascript-library please use libjs-async *asynckit/lib/async.js*`,
        ]
      : []),
    ...(environmentFile === undefined
      ? []
      : [
          "# The file can contain secrets.",
          `${name}: non-standard-file-perm 0640 != 0644 *${environmentFile.slice(1)}*`,
        ]),
  ];
  return `${lines.join("\n")}\n`;
}
