import type { AccessDifference, AccessRow } from "../effects/access-difference.ts";
import { accessLevel } from "../effects/access-level.ts";
import { checkExpectation } from "../effects/check-expectation.ts";
import { compareAccess } from "../effects/compare-access.ts";
import type { DeviceFacts } from "../model/facts.ts";
import { update } from "../model/model.ts";
import type { Effects } from "./effect-properties.ts";
import { madeUp } from "./expectation-properties.ts";
import { answerOf, differenceOf, type WholeDifference, wholeOf } from "./reference-difference.ts";

export const effects: Effects = { accessLevel, compareAccess, checkExpectation };

/** An arbitrary size. Pages are joined again. */
const pageSize = 7;

/** The real comparison, with a mistake in its whole result. */
function changed(change: (whole: WholeDifference) => WholeDifference): Effects {
  return {
    ...effects,
    compareAccess: (...asked) => answerOf(change(wholeOf(compareAccess(...asked), pageSize))),
  };
}

/** The real comparison, with rows removed or replaced. Everything else in the result agrees with the rows. */
function changedRows(change: (row: AccessRow) => AccessRow | undefined): Effects {
  return changed(({ rows }) => differenceOf(rows.flatMap((row) => change(row) ?? [])));
}

function paged(page: (difference: AccessDifference) => AccessDifference["rows"]): Effects {
  return {
    ...effects,
    compareAccess(...asked) {
      const difference = compareAccess(...asked);
      return { ...difference, rows: page(difference) };
    },
  };
}

/** Comparisons with one mistake each, by description. */
export const brokenComparisons: ReadonlyMap<string, Effects> = new Map(
  Object.entries({
    "omits devices": changedRows((row) =>
      row.subject.kind === "user" && row.subject.deviceId !== undefined ? undefined : row,
    ),
    "omits users without a device": changedRows((row) =>
      row.subject.kind === "user" && row.subject.deviceId === undefined ? undefined : row,
    ),
    "omits sites": changedRows((row) => (row.subject.kind === "site" ? undefined : row)),
    "omits the internet": changedRows((row) => (row.resourceId === undefined ? undefined : row)),
    "omits losses": changedRows((row) => (row.direction === "lost" ? undefined : row)),
    "reports sometimes as always": changedRows((row) => {
      const [before, after] = [row.before, row.after].map((level) => (level === "sometimes" ? "always" : level));
      return before === undefined || after === undefined || before === after ? undefined : { ...row, before, after };
    }),
    "counts a user once for each device": changed((whole) => ({
      ...whole,
      gained: { ...whole.gained, users: whole.gained.users + whole.gained.devices },
    })),
    "counts resources as pairs": changed((whole) => ({
      ...whole,
      lost: { ...whole.lost, pairs: whole.lost.resources },
    })),
    "omits the last group": changed((whole) => ({ ...whole, groups: whole.groups.slice(0, -1) })),
    "splits groups by resource": changed((whole) => ({
      ...whole,
      groups: whole.groups.flatMap((group) =>
        group.resourceIds.map((id) => ({ ...group, resourceIds: [id], resources: 1, pairs: group.subjectCount })),
      ),
    })),
    "omits a subject of each group": changed((whole) => ({
      ...whole,
      groups: whole.groups.map((group) => ({ ...group, subjects: group.subjects.slice(1) })),
    })),
    "pages by twice the offset": paged(
      ({ rows }) =>
        ({ offset, limit }) =>
          rows({ offset: offset * 2, limit }),
    ),
    "ignores all changes except those of policies": {
      ...effects,
      compareAccess: (before, after, changes, circumstances) =>
        compareAccess(
          before,
          after,
          changes.filter(({ kind }) => kind === "policy" || kind === "policy-order"),
          circumstances,
        ),
    },
    "ignores changes of resources": {
      ...effects,
      compareAccess: (before, after, changes, circumstances) =>
        compareAccess(
          before,
          after,
          changes.filter(({ kind }) => kind !== "resource"),
          circumstances,
        ),
    },
    "leaves the time open": {
      ...effects,
      compareAccess: (before, after, changes, { now: _, ...circumstances }) =>
        compareAccess(before, after, changes, circumstances),
    },
    "swaps before and after": {
      ...effects,
      compareAccess: (before, after, changes, circumstances) => compareAccess(after, before, changes, circumstances),
    },
  }),
);

/** Levels with one mistake each. */
export const brokenLevels: ReadonlyMap<string, Effects> = new Map(
  Object.entries({
    "treats open circumstances as absent": {
      ...effects,
      accessLevel: (model, subject, destination, { sourceIp = "none", country = "none", now = 0 }) =>
        accessLevel(model, subject, destination, { sourceIp, country, now }),
    } satisfies Effects,
    "never reports never": {
      ...effects,
      accessLevel: (...asked) => (accessLevel(...asked) === "never" ? "sometimes" : accessLevel(...asked)),
    } satisfies Effects,
    "reports sometimes as never": {
      ...effects,
      accessLevel: (...asked) => (accessLevel(...asked) === "sometimes" ? "never" : accessLevel(...asked)),
    } satisfies Effects,
    "treats open posture as known": {
      ...effects,
      accessLevel: (model, subject, destination, { device: _, ...circumstances }) =>
        accessLevel(model, subject, destination, circumstances),
    } satisfies Effects,
    "treats the other fields of a hypothetical device as known": {
      ...effects,
      accessLevel: (model, subject, destination, { device, ...circumstances }) =>
        accessLevel(model, subject, destination, {
          ...circumstances,
          ...(device !== undefined && { device: { ...device, isHypothetical: false } }),
        }),
    } satisfies Effects,
    "ignores properties in the request": {
      ...effects,
      accessLevel(model, subject, destination, circumstances) {
        if (subject.kind === "site") return accessLevel(model, subject, destination, circumstances);
        const { attributes: _, posture: __, ...stored } = subject;
        return accessLevel(model, stored, destination, circumstances);
      },
    } satisfies Effects,
  }),
);

/** Checks of expectations with one mistake each. */
export const brokenChecks: ReadonlyMap<string, Effects> = new Map(
  Object.entries({
    "never checks devices": {
      ...effects,
      checkExpectation: (model, expectation) => checkExpectation(model, { ...expectation, device: "none" }),
    } satisfies Effects,
    "inverts the expectation": {
      ...effects,
      checkExpectation: (model, expectation) =>
        checkExpectation(model, { ...expectation, expected: expectation.expected === "denied" ? "allowed" : "denied" }),
    } satisfies Effects,
    "accepts a missing subject or destination": {
      ...effects,
      checkExpectation(model, expectation) {
        const checked = checkExpectation(model, expectation);
        return checked.missing === undefined ? checked : { ...checked, holds: true };
      },
    } satisfies Effects,
    "gives omitted posture a value": {
      ...effects,
      checkExpectation(model, expectation) {
        const { device } = expectation;
        if (typeof device !== "object") return checkExpectation(model, expectation);
        const posture = { diskEncrypted: false, level: 1, ...device.posture };
        return checkExpectation(model, { ...expectation, device: { posture } });
      },
    } satisfies Effects,
    "gives a hypothetical device empty fields": {
      ...effects,
      checkExpectation(model, expectation) {
        const { subject, device } = expectation;
        if (typeof device !== "object" || subject.kind !== "user") return checkExpectation(model, expectation);
        const facts: DeviceFacts = { ...madeUp, userId: subject.id, posture: device.posture };
        const owned = update(model, [{ kind: "device", facts }]);
        const checked = checkExpectation(owned, { ...expectation, subject: { kind: "device", id: facts.id } });
        return { ...checked, broken: checked.broken.map(({ deviceId: _, ...broken }) => broken) };
      },
    } satisfies Effects,
    "counts only listed subjects": {
      ...effects,
      checkExpectation(model, expectation) {
        const checked = checkExpectation(model, expectation);
        return { ...checked, broken: checked.broken.slice(0, 2), brokenCount: Math.min(2, checked.brokenCount) };
      },
    } satisfies Effects,
  }),
);
