/** Validates the access test in a request and converts it to its stored form. */

import type { BodyOf } from "@gatehouse/contract/operation";
import type { createAccessTest, updateAccessTest } from "@gatehouse/contract/operations/access-tests.operations";
import type { AccessTestContext } from "@gatehouse/contract/records/access-test";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { refuseMissing } from "../references/references.api.ts";
import { findNamed, type TestQuestion } from "./access-tests.queries.ts";
import { combinationProblem, readTestAddress, readTestContext, type TestProblem } from "./access-tests.rules.ts";

/** The question of a test in a request. */
export type AskedQuestion = Omit<BodyOf<typeof createAccessTest>, "name" | "description" | "enforced">;

/** The changes to a question in a request, without the unchanged fields. */
export type ChangedQuestion = Omit<BodyOf<typeof updateAccessTest>, "name" | "description" | "enforced">;

/** A question with valid fields whose references are not resolved yet. */
export interface ParsedQuestion {
  readonly asked: AskedQuestion;
  readonly context: TestQuestion["context"];
  readonly resourceId: string;
}

/**
 * @param pointer to the test in the body
 * @throws AppError invalid_combination, invalid_address
 */
export function parseQuestion(asked: AskedQuestion, pointer = ""): ParsedQuestion {
  const { device = "any", resource, context } = asked;
  const problem = combinationProblem({ ...asked, device });
  if (problem !== undefined) throw refusal(problem, pointer);
  const circumstances = readCircumstances(context ?? {}, pointer);
  if (resource.type === "resource") return { asked, context: circumstances, resourceId: resource.id };
  const address = readTestAddress(resource.id);
  if (!address.ok) throw refusal(address.problem, pointer);
  return { asked, context: circumstances, resourceId: address.value };
}

/**
 * The circumstances in their stored form.
 *
 * @param pointer to the object that contains `context`
 * @throws AppError invalid_address
 */
export function readCircumstances(context: AccessTestContext, pointer = ""): AccessTestContext {
  const reading = readTestContext(context);
  if (!reading.ok) throw refusal(reading.problem, pointer);
  return reading.value;
}

/** The records of a test that exist in the tenant; undefined for missing ones. */
export interface FoundRecords {
  readonly subjectId: string | undefined;
  readonly resourceId: string | undefined;
}

/** Starts all queries before it first waits. */
export async function findRecords(tx: TenantTx, { asked, resourceId }: ParsedQuestion): Promise<FoundRecords> {
  const { subject, resource } = asked;
  const [foundSubject, foundResource] = await Promise.all([
    subject.type === "everyone" || subject.id === undefined ? undefined : findNamed(tx, subject.type, subject.id),
    resource.type === "resource" ? findNamed(tx, "resource", resourceId) : resourceId,
  ]);
  return { subjectId: foundSubject, resourceId: foundResource };
}

/**
 * @param pointer to the test in the body
 * @param unchanged references that the request does not change, whose records may be missing
 * @throws AppError unknown_reference
 */
export function validQuestion(
  { asked, context, resourceId }: ParsedQuestion,
  found: FoundRecords,
  {
    pointer = "",
    unchanged = {},
  }: { readonly pointer?: string; readonly unchanged?: { subject?: boolean; resource?: boolean } } = {},
): TestQuestion {
  const { subject, device = "any", resource, expected } = asked;
  const isMissing = subject.type !== "everyone" && found.subjectId === undefined && unchanged.subject !== true;
  refuseMissing([
    ...(isMissing ? [unknown(`${pointer}/subject/id`, subject.type, subject.id)] : []),
    ...(found.resourceId === undefined && unchanged.resource !== true
      ? [unknown(`${pointer}/resource/id`, "resource", resource.id)]
      : []),
  ]);
  return {
    subject_type: subject.type,
    subject_id: found.subjectId ?? subject.id ?? null,
    device,
    resource_type: resource.type,
    resource_id: found.resourceId ?? resourceId,
    properties: resource.properties ?? {},
    context,
    expected,
  };
}

function unknown(pointer: string, noun: string, id = "") {
  return bodyField(pointer, `no ${noun} has the id ${JSON.stringify(id.slice(0, 256))}`);
}

function refusal({ code, pointer, message }: TestProblem, prefix: string): AppError {
  return new AppError(code, { errors: [bodyField(prefix + pointer, message)] });
}

/** The question of a stored test after a change of some of its fields. */
export function changedQuestion(row: TestQuestion, change: ChangedQuestion): AskedQuestion {
  const { subject, device, resource, context, expected } = change;
  return {
    subject: subject ?? { type: row.subject_type, ...(row.subject_id === null ? {} : { id: row.subject_id }) },
    device: device ?? row.device,
    resource: resource ?? { type: row.resource_type, id: row.resource_id, properties: row.properties },
    context: context ?? row.context,
    expected: expected ?? row.expected,
  };
}
