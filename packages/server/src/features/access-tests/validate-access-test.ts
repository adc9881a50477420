/** Makes of what a request says of a test what is stored of it. */

import type { BodyOf } from "@gatehouse/contract/operation";
import type { createAccessTest, updateAccessTest } from "@gatehouse/contract/operations/access-tests.operations";
import type { AccessTestContext } from "@gatehouse/contract/records/access-test";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { refuseMissing } from "../references/references.api.ts";
import { findNamed, type TestQuestion } from "./access-tests.queries.ts";
import { combinationProblem, readTestAddress, readTestContext, type TestProblem } from "./access-tests.rules.ts";

/** What a test asks, as a request has it. */
export type AskedQuestion = Omit<BodyOf<typeof createAccessTest>, "name" | "description" | "enforced">;

/** As a request has it that says only what is to change. */
export type ChangedQuestion = Omit<BodyOf<typeof updateAccessTest>, "name" | "description" | "enforced">;

/** A question whose fields are sound, and what it names still to be found. */
export interface ReadQuestion {
  readonly asked: AskedQuestion;
  readonly context: TestQuestion["context"];
  readonly resourceId: string;
}

/**
 * @param pointer to the test in the body
 * @throws AppError invalid_combination, invalid_address
 */
export function readQuestion(asked: AskedQuestion, pointer = ""): ReadQuestion {
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
 * The circumstances in the form in which they are stored.
 *
 * @param pointer to what `context` is a field of
 * @throws AppError invalid_address
 */
export function readCircumstances(context: AccessTestContext, pointer = ""): AccessTestContext {
  const reading = readTestContext(context);
  if (!reading.ok) throw refusal(reading.problem, pointer);
  return reading.value;
}

/** What of a test's records the tenant has; undefined: it has none. */
export interface FoundRecords {
  readonly subjectId: string | undefined;
  readonly resourceId: string | undefined;
}

/** Asks for all its queries before it first waits. */
export async function findRecords(tx: TenantTx, { asked, resourceId }: ReadQuestion): Promise<FoundRecords> {
  const { subject, resource } = asked;
  const [foundSubject, foundResource] = await Promise.all([
    subject.type === "everyone" || subject.id === undefined ? undefined : findNamed(tx, subject.type, subject.id),
    resource.type === "resource" ? findNamed(tx, "resource", resourceId) : resourceId,
  ]);
  return { subjectId: foundSubject, resourceId: foundResource };
}

/**
 * @param pointer to the test in the body
 * @param kept what the request does not name, so that it need not be there any more
 * @throws AppError unknown_reference
 */
export function soundQuestion(
  { asked, context, resourceId }: ReadQuestion,
  found: FoundRecords,
  {
    pointer = "",
    kept = {},
  }: { readonly pointer?: string; readonly kept?: { subject?: boolean; resource?: boolean } } = {},
): TestQuestion {
  const { subject, device = "any", resource, expected } = asked;
  const isMissing = subject.type !== "everyone" && found.subjectId === undefined && kept.subject !== true;
  refuseMissing([
    ...(isMissing ? [unknown(`${pointer}/subject/id`, subject.type, subject.id)] : []),
    ...(found.resourceId === undefined && kept.resource !== true
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
