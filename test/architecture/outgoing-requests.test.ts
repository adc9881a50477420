/**
 * The server sends requests only through modules that limit them: a target can belong to a tenant
 * (docs/decisions/0261-attestations-and-own-requests.md).
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { root } from "./run-tool.ts";

const server = path.join(root, "packages/server/src");

/** Modules with other connections than those of platform/outbound. The operator chooses all of their targets. */
const exempt: Readonly<Record<string, string>> = {
  "doctor/network-checks.ts": "gatehouse doctor is another process, which checks the addresses of the settings",
  "platform/acme/authority-client.ts": "the certificate authority",
  "platform/db/primary-locator.ts": "the database",
};

const globals = ["fetch", "WebSocket", "EventSource", "XMLHttpRequest"];
const objects = ["globalThis", "global", "self", "window"];
/** Exports that open connections or look up names, by module of Node.js. */
const connecting: Readonly<Record<string, readonly string[]>> = {
  http: ["request", "get", "Agent", "globalAgent", "ClientRequest"],
  https: ["request", "get", "Agent", "globalAgent"],
  http2: ["connect"],
  net: ["connect", "createConnection", "Socket", "Stream"],
  tls: ["connect", "TLSSocket"],
  dgram: ["createSocket", "Socket"],
  ws: ["WebSocket"],
};
const isLookup = (module: string) => module === "dns" || module === "dns/promises";
const isClient = (module: string) => ["undici", "axios", "follow-redirects"].includes(module);

/** Expressions and imports of a module that can send requests. Imports of types cannot. */
function sendingParts(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && globals.includes(node.text) && isReference(node)) found.push(node.text);
    if (ts.isImportDeclaration(node)) found.push(...sendingImports(node));
    else if (!ts.isTypeNode(node)) ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("module.ts", text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Whether an identifier is a value, and not the name of a property or method. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return ts.isIdentifier(parent.expression) && objects.includes(parent.expression.text);
  }
  const named = ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent);
  return !(named && parent.name === node) && !ts.isPropertySignature(parent) && !ts.isMethodSignature(parent);
}

function sendingImports({ importClause, moduleSpecifier }: ts.ImportDeclaration): readonly string[] {
  if (!ts.isStringLiteral(moduleSpecifier) || importClause === undefined) return [];
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
  const module = moduleSpecifier.text.replace(/^node:/, "");
  if (isLookup(module) || isClient(module)) return named(importClause).map((name) => `${module} ${name}`);
  const names = connecting[module];
  if (names === undefined) return [];
  return named(importClause)
    .filter((name) => name === "*" || names.includes(name))
    .map((name) => `${module} ${name}`);
}

/** The imported values; "*" for the whole module. */
function named({ name, namedBindings }: ts.ImportClause): readonly string[] {
  const whole = name !== undefined || (namedBindings !== undefined && ts.isNamespaceImport(namedBindings));
  const elements = namedBindings !== undefined && ts.isNamedImports(namedBindings) ? namedBindings.elements : [];
  const values = elements.filter(({ isTypeOnly }) => !isTypeOnly);
  return [...(whole ? ["*"] : []), ...values.map((each) => (each.propertyName ?? each.name).text)];
}

describe("a module that can send requests is found", () => {
  test.each([
    'await fetch("https://example.com");',
    'await globalThis.fetch("https://example.com");',
    "const options = { customFetch: fetch };",
    "const { fetch } = globalThis;",
    'const socket = new WebSocket("wss://example.com");',
    'import { request as send } from "node:https";',
    'import net from "node:net";',
    'import * as http from "http";',
    'import { isIP, connect } from "node:net";',
    'import { lookup } from "node:dns/promises";',
    'import { fetch as send } from "undici";',
  ])("%s", (text) => {
    expect(sendingParts(text)).not.toEqual([]);
  });

  test.each([
    "this.#work.fetch();",
    "queue.fetch(1);",
    "class Queue { fetch() {} }",
    'import type { Socket } from "node:net";',
    'import { isIP, type Socket } from "node:net";',
    'import { createServer } from "node:http";',
    "type Send = typeof fetch;",
  ])("but not for %s", (text) => {
    expect(sendingParts(text)).toEqual([]);
  });
});

test("the server sends requests only through platform/outbound and the exempt modules", () => {
  const modules = ts.sys
    .readDirectory(server, [".ts"], ["**/*.test.ts", "testing/**", "platform/outbound/**"])
    .map((file) => path.relative(server, file));
  expect(modules.length).toBeGreaterThan(300);
  const sending = modules.filter((file) => sendingParts(readFileSync(path.join(server, file), "utf8")).length > 0);
  expect(sending.sort()).toEqual(Object.keys(exempt));
});
