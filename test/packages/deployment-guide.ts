/** The commands in docs/deployment.md, which tests run word for word. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { workspace } from "./tested-release.ts";

/** The shell blocks below a heading of docs/deployment.md, up to the next heading. */
export async function guideCommands(heading: string): Promise<readonly string[]> {
  const document = await readFile(path.join(workspace, "docs/deployment.md"), "utf8");
  const blocks: string[] = [];
  let section: string | undefined;
  // Every second part is a fenced block, in which # begins a comment.
  for (const [index, part] of document.split(/^```/m).entries()) {
    if (index % 2 === 0) section = [...part.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? section;
    else if (section === heading && part.startsWith("sh\n")) blocks.push(part.slice("sh\n".length));
  }
  if (blocks.length === 0) throw new Error(`docs/deployment.md has no commands below ${heading}.`);
  return blocks;
}
