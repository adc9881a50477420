import { errorCodes, errorDefinitions } from "@gatehouse/contract/errors";
import { errorIntroduction } from "../http/error-pages.ts";

/** `docs/errors.md`: a table of every code, then a section for each. A section's anchor is its code. */
export function errorsMarkdown(): string {
  const rows = errorCodes.map((code) => {
    const { status, title } = errorDefinitions[code];
    return `| ${status} | [\`${code}\`](#${code}) | ${title} |`;
  });
  const sections = errorCodes.map((code) => {
    const { status, title, explanation, remedy } = errorDefinitions[code];
    return `## ${code}

**${title}.** Status ${status}.

${explanation}

What to do: ${remedy}
`;
  });
  return `# Errors

<!-- Generated from packages/contract/src/errors. Do not edit. -->

${errorIntroduction} A Gatehouse server documents each code at the path in \`type\`, such as \`/errors/not_found\`.

| Status | Code | Title |
|---|---|---|
${rows.join("\n")}

${sections.join("\n")}`;
}
