/** The commands in documents, which tests run word for word. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { workspace } from "./tested-release.ts";

/** The shell blocks below a heading of a document, up to the next heading. */
export async function guideCommands(heading: string, document = "deployment.md"): Promise<readonly string[]> {
  const text = await readFile(path.join(workspace, "docs", document), "utf8");
  const blocks: string[] = [];
  let section: string | undefined;
  // Every second part is a fenced block, in which # begins a comment.
  for (const [index, part] of text.split(/^```/m).entries()) {
    if (index % 2 === 0) section = [...part.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? section;
    else if (section === heading && part.startsWith("sh\n")) blocks.push(part.slice("sh\n".length));
  }
  if (blocks.length === 0) throw new Error(`docs/${document} has no commands below ${heading}.`);
  return blocks;
}
