import { describe, expect, test } from "vitest";
import { layOut, stepFrom } from "./graph-layout.ts";
import { type AccessGraph, buildGraph, pathsThrough } from "./graph-model.ts";
import { openOrClose, readOpened, turnTo, writeOpened } from "./graph-opened.ts";
import { type Focus, leafOf, narrowPaths, type Policy, readGateways, readPaths } from "./graph-paths.ts";

const never = { createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:00.000Z" };

interface Said extends Partial<Omit<Policy, "groups" | "users" | "resources" | "gateways">> {
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  readonly resources?: readonly string[];
  readonly gateways?: readonly string[];
}

function policy(name: string, { groups = [], users = [], resources = [], gateways = [], ...more }: Said): Policy {
  const named = (id: string) => ({ id, name: id, ...never });
  return {
    ...named(name),
    action: true,
    active: true,
    order: 1,
    isDefault: false,
    type: "PRIVATE",
    allUsers: false,
    allGroups: false,
    allDevices: false,
    allResources: false,
    devices: [],
    sourceIps: [],
    rule: { ...named("ALLOW"), type: "ALLOW", hasTimeConstraint: false },
    groups: groups.map(named),
    users: users.map((id) => ({ ...named(id), email: `${id}@example.com` })),
    resources: resources.map(named),
    gateways: gateways.map(named),
    ...more,
  } as unknown as Policy; // contains only the fields that the graph reads
}

const gateways = readGateways([
  { id: "g1", name: "Gateway 1", status: "ONLINE", resources: [{ id: "wiki" }, { id: "books" }] },
  { id: "g2", name: "Gateway 2", status: "OFFLINE", resources: [{ id: "wiki" }] },
]);
const small = readPaths(
  [
    policy("Nobody to books", { action: false, groups: ["sales"], resources: ["books"] }),
    policy("Off", { active: false, groups: ["sales"], resources: ["wiki"] }),
    policy("Wiki", { groups: ["sales", "people"], resources: ["wiki"] }),
    policy("Wiki by one", { allUsers: true, resources: ["wiki", "books"], gateways: ["g1"] }),
  ],
  gateways,
);
const graphOf = (paths = small, opened = readOpened(""), focus?: Focus): AccessGraph =>
  buildGraph({ paths, gateways, opened, focus, members: undefined });
const names = (graph: AccessGraph, column: keyof AccessGraph["columns"]) =>
  graph.columns[column].map(({ name }) => name);
const formatEdges = ({ edges }: AccessGraph) =>
  edges.map(({ from, to, denies }) => `${from} ${denies ? "x" : ">"} ${to}`);

describe("a small graph", () => {
  test("names gateways by name, whatever their order in the answer", () => {
    const { all } = readGateways([
      { id: "f", name: "Frankfurt", status: "ONLINE" },
      { id: "c", name: "Cloud", status: "ONLINE" },
    ]);
    expect(all.map(({ name }) => name)).toEqual(["Cloud", "Frankfurt"]);
  });

  test("has all records of active policies, in policy order, and marks where denied paths end", () => {
    const graph = graphOf();
    expect(names(graph, "source")).toEqual(["sales", "people", "All users"]);
    expect(names(graph, "policy")).toEqual(["Nobody to books", "Wiki", "Wiki by one"]);
    expect(graph.columns.policy.map(({ note }) => note)).toEqual(["1 · Deny", "3 · Allow", "4 · Allow"]);
    expect(graph.columns.policy.map(({ denies }) => denies === true)).toEqual([true, false, false]);
    expect(formatEdges(graph)).toEqual([
      "group:sales x policy:Nobody to books",
      "policy:Nobody to books x resource:books",
      "group:sales > policy:Wiki",
      "group:people > policy:Wiki",
      "policy:Wiki > resource:wiki",
      "all-users > policy:Wiki by one",
      "policy:Wiki by one > resource:wiki",
      "policy:Wiki by one > resource:books",
      "resource:wiki > gateway:g1",
      "resource:wiki > gateway:g2",
      "resource:books > gateway:g1",
    ]);
  });

  test("can show only denied paths, which have no gateway", () => {
    const graph = graphOf(narrowPaths(small, "denied", undefined));
    expect(names(graph, "policy")).toEqual(["Nobody to books"]);
    expect(names(graph, "gateway")).toEqual([]);
  });

  test.each([
    [{ leaf: leafOf("resource", "books", "books") }, ["Nobody to books", "Wiki by one"], ["books"]],
    [{ leaf: leafOf("gateway", "g2", "Gateway 2") }, ["Wiki"], ["wiki"]],
    [{ leaf: leafOf("policy", "Wiki", "Wiki") }, ["Wiki"], ["wiki"]],
    [
      { leaf: leafOf("user", "ann", "Ann"), sourceKeys: new Set(["group:people", "all-users"]) },
      ["Wiki", "Wiki by one"],
      ["wiki", "books"],
    ],
  ] satisfies readonly (readonly [Focus, readonly string[], readonly string[]])[])(
    "is narrowed to what leads through %j",
    (focus, policies, resources) => {
      const graph = graphOf(narrowPaths(small, "all", focus), readOpened(""), focus);
      expect(names(graph, "policy")).toEqual(policies);
      expect(names(graph, "resource")).toEqual(resources);
      expect(names(graph, "subject")).toEqual(focus.leaf.kind === "user" ? ["Ann"] : []);
    },
  );

  test("finds the paths to and from a node, and the targets of the arrow keys", () => {
    const graph = graphOf();
    expect([...pathsThrough(graph.edges, "policy:Wiki")].sort()).toEqual([
      "gateway:g1",
      "gateway:g2",
      "group:people",
      "group:sales",
      "policy:Wiki",
      "resource:wiki",
    ]);
    const layout = layOut(graph);
    expect(stepFrom(layout, graph, "group:people", "ArrowRight")).toBe("policy:Wiki");
    expect(stepFrom(layout, graph, "policy:Wiki", "ArrowDown")).toBe("policy:Wiki by one");
    expect(stepFrom(layout, graph, "gateway:g2", "ArrowLeft")).toBe("resource:wiki");
    expect(stepFrom(layout, graph, "group:people", "ArrowLeft")).toBeUndefined();
    expect(stepFrom(layout, graph, "policy:Wiki by one", "Home")).toBe("policy:Nobody to books");
  });
});

describe("a large graph", () => {
  const behind = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({ id: `resource ${from + index}` }));
  const large = readGateways([
    { id: "a", name: "A", status: "ONLINE", resources: behind(0, 6000) },
    { id: "b", name: "B", status: "ONLINE", resources: behind(5000, 10_000) },
  ]);
  const paths = readPaths(
    Array.from({ length: 2000 }, (_, index) =>
      policy(`Policy ${index}`, {
        action: index % 10 > 0,
        groups: [`group ${index % 300}`],
        users: [`user ${index}`],
        resources: Array.from({ length: 10 }, (__, next) => `resource ${(index * 5 + next) % 10_000}`),
      }),
    ),
    large,
  );
  const build = (open: string) =>
    buildGraph({ paths, gateways: large, opened: readOpened(open), focus: undefined, members: undefined });
  const sizes = (graph: AccessGraph) => Object.values(graph.columns).map(({ length }) => length);

  test("is drawn with few nodes, whichever groups are open, and shows how many records each contains", () => {
    const graph = build("");
    expect(sizes(graph)).toEqual([0, 21, 20, 3, 2]);
    expect(graph.columns.source.at(-1)?.name).toBe("and 2,280 more");
    expect(graph.columns.policy[0]).toMatchObject({
      name: "Policies 1 to 100",
      note: "90 allow, 10 deny",
      isOpen: false,
    });
    expect(graph.columns.resource.map(({ name, note }) => `${name} ${note}`)).toEqual([
      "5,000 resources behind A",
      "1,000 resources behind A, B",
      "4,000 resources behind B",
    ]);
    const opened = build(`p.3~2,source~16,users~5,${graph.columns.resource[0]?.key}~7`);
    expect(Math.max(...sizes(opened))).toBeLessThanOrEqual(44);
    expect(opened.columns.policy.map(({ name }) => name)).toContain("Policy 325");
    expect(opened.columns.policy.find(({ kind }) => kind === "before")?.name).toBe("20 earlier");
  });

  test("loses no connection by being grouped", () => {
    const counted = (open: string) => {
      const { edges, columns } = build(open);
      const policies = new Set(columns.policy.map(({ key }) => key));
      return edges.filter(({ to }) => policies.has(to)).reduce((sum, { count }) => sum + count, 0);
    };
    expect(counted("")).toBe(4000);
    expect(counted("p.3,source~2")).toBe(4000);
    expect(counted("users~9,p.19~4")).toBe(4000);
  });

  test("shows the last page instead of a page beyond it", () => {
    expect(build("policy~900").columns.policy.length).toBe(20);
    expect(names(build("source~900"), "source")).toContain("2,000 users");
  });
});

describe("the open state", () => {
  test("is written to the address and read back", () => {
    const opened = turnTo(openOrClose(openOrClose(readOpened("source~3"), "p.1"), "r.abc"), "p.1", 4);
    expect(writeOpened(opened)).toBe("source~3,r.abc,p.1~5");
    expect(readOpened("source~3,r.abc,p.1~5")).toEqual(opened);
    expect(writeOpened(readOpened(""))).toBeUndefined();
    expect(readOpened("p.1~0,p.2~x,~3,p.4~9999999").size).toBe(0);
  });

  test("has one open node per column, which a second activation closes", () => {
    const opened = openOrClose(openOrClose(readOpened("p.1,users~2"), "p.2"), "group:1");
    expect(writeOpened(opened)).toBe("p.2,group:1");
    expect(writeOpened(openOrClose(opened, "p.2"))).toBe("group:1");
  });
});
