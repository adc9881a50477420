/** The documents as Markdown. Each one is a file of the build that is loaded when it is shown. */
import { type GuideName, guideNames } from "../../records/guide-link.tsx";

const documents = import.meta.glob<string>(
  "../../../../../docs/{console,tour,gateway,device,invitations,identity-providers,access,access-impact,declarative,change-sets,revert,webhooks,deployment,configuration,command-line,operations,keys,sizing,glossary}.md",
  { query: "?raw", import: "default" },
);

const byName = new Map(
  Object.entries(documents).map(([path, load]) => [path.replace(/^.*\/([\w-]+)\.md$/, "$1"), load]),
);

export function isGuide(name: string): name is GuideName {
  return guideNames.some((known) => known === name);
}

/** @throws Error if the document is not part of the build, or cannot be loaded */
export async function readGuide(name: GuideName): Promise<string> {
  const load = byName.get(name);
  if (load === undefined) throw new Error(`The guide ${name} is not part of this build.`);
  return load();
}
