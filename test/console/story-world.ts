/** What every file of stories begins with: a world, a key of its owner, and how people call what they see. */
import { afterAll, beforeAll } from "vitest";
import {
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  type Visit,
  type VisitOptions,
  withoutBrowser,
} from "./console-world.ts";

export interface StoryWorld {
  /** Only within tests, as all of the following. */
  readonly world: ConsoleWorld;
  readonly client: ConsoleWorld["client"];
  /** The key of an owner. */
  readonly owner: string;
  /** As the owner, unless another key is given. */
  visit(options?: VisitOptions): Promise<Visit>;
  /** Of a record by its name. */
  idOf(path: string, name: string): Promise<string>;
}

/** Call it in a `describe`. */
export function storyWorld(): StoryWorld {
  let opened: { readonly world: ConsoleWorld; readonly owner: string } | undefined;
  beforeAll(async () => {
    const world = await openConsoleWorld();
    opened = { world, owner: await world.keyOf("OWNER") };
  }, 120_000);
  afterAll(() => opened?.world.close());
  const now = () => {
    if (opened === undefined) throw new Error("the world of the stories is not open yet");
    return opened;
  };
  return {
    get world() {
      return now().world;
    },
    get client() {
      return now().world.client;
    },
    get owner() {
      return now().owner;
    },
    visit: (options = {}) => now().world.visit({ key: now().owner, ...options }),
    async idOf(path, name) {
      const { body } = await now().world.client.get(`/tenants/${path}?filter[name]=${encodeURIComponent(name)}`);
      return body.data[0].id;
    },
  };
}

export function saySkipped(): void {
  if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);
}

export const heading = ({ page }: Visit, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
export const button = ({ page }: Visit, name: string | RegExp) => page.getByRole("button", { name, exact: true });
export const inDialog = ({ page }: Visit, name: string | RegExp) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true });
export const effectOf = ({ page }: Visit) => page.getByRole("region", { name: "What this does to access" });

/** What was typed is looked at, and then saved. @param label of the button that saves it */
export async function review(visit: Visit, label: string): Promise<void> {
  await inDialog(visit, "Review").click();
  await effectOf(visit).waitFor();
  await inDialog(visit, label).click();
}
