/** The expanded groups of the graph and their pages. Each column has at most one, so that the graph stays small. */

export const columns = ["subject", "source", "policy", "resource", "gateway"] as const;
export type Column = (typeof columns)[number];

/** Pages, from 0, of columns by name and of expanded groups by key. */
export type Opened = ReadonlyMap<string, number>;

const isColumn = (key: string): boolean => columns.some((column) => column === key);

function columnOf(owner: string): Column {
  if (owner.startsWith("p.")) return "policy";
  return owner.startsWith("r.") ? "resource" : "source";
}

/** Expands or collapses a group. The other groups of its column collapse. */
export function openOrClose(opened: Opened, owner: string): Opened {
  const rest = [...opened].filter(([key]) => isColumn(key) || columnOf(key) !== columnOf(owner));
  return new Map([...rest, ...(opened.has(owner) ? [] : [[owner, 0] as const])]);
}

export function turnTo(opened: Opened, owner: string, page: number): Opened {
  const others = [...opened].filter(([key]) => key !== owner);
  return new Map(page === 0 && isColumn(owner) ? others : [...others, [owner, page]]);
}

/** The form in the URL: `p.3~2,group:…`. */
export function writeOpened(opened: Opened): string | undefined {
  const texts = [...opened].map(([key, page]) => (page === 0 ? key : `${key}~${page + 1}`));
  return texts.length === 0 ? undefined : texts.join(",");
}

/** Ignores invalid parts. */
export function readOpened(text: string): Opened {
  const opened = new Map<string, number>();
  for (const part of text.split(",").slice(0, 2 * columns.length)) {
    const [key = "", page = "1"] = part.split("~");
    if (key !== "" && /^[1-9]\d{0,5}$/.test(page)) opened.set(key, Number(page) - 1);
  }
  return opened;
}
