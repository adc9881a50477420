import type { ResultOf } from "@gatehouse/client/calls";
import { formatCellList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

type Subject = ResultOf<"/tenants/events/{id}/effect", "get">["groups"][number]["subjects"][number];

/** Items that a cell names. */
const mostNamed = 5;

/** Returns how many items a cell names. It never counts a single remaining item, which needs no more space. */
export function namedOf(count: number): number {
  return count === mostNamed + 1 ? count : Math.min(count, mostNamed);
}

/** A subject of a change of access, such as "ann@example.com: Laptop". */
export function formatSubject({ kind, name, user }: Subject): string {
  if (kind === "device" && user !== undefined) {
    return t("records.effect.userOnDevice", { user: user.name, device: name });
  }
  if (kind === "site") return t("records.effect.site", { name });
  return kind === "user" ? t("records.effect.userWithoutDevice", { name }) : name;
}

/** A record that a text names. */
export interface NamedRecord {
  readonly path: "users" | "devices" | "resources";
  readonly id: string;
  readonly name: string;
}

export interface SubjectLine {
  readonly text: string;
  /** The records that the text names, in their order. */
  readonly records: readonly NamedRecord[];
}

/** A user among the subjects. */
interface Person {
  readonly user: NamedRecord;
  readonly devices: NamedRecord[];
  /** Whether the change also concerns the user without a device. */
  isAlone: boolean;
}

/**
 * The subjects with the same change of access, one line each. A user with devices is one line, such as
 * "ann@example.com: Laptop and without a device", and the users without a device are one line together. The last line
 * counts the others.
 *
 * @param count the number of subjects, of which `subjects` are the first
 * @param users the number of users among all subjects, if known
 */
export function formatSubjects(subjects: readonly Subject[], count: number, users?: number): readonly SubjectLine[] {
  const people = new Map<string, Person>();
  const others: SubjectLine[] = [];
  for (const subject of subjects) {
    const user = subject.kind === "user" ? subject : subject.kind === "device" ? subject.user : undefined;
    if (user === undefined) {
      const records = subject.kind === "device" ? [deviceOf(subject)] : [];
      others.push({ text: formatSubject(subject), records });
      continue;
    }
    const person = people.get(user.id) ?? {
      user: { path: "users", id: user.id, name: user.name },
      devices: [],
      isAlone: false,
    };
    people.set(user.id, person);
    if (subject.kind === "device") person.devices.push(deviceOf(subject));
    else person.isAlone = true;
  }
  const withDevices = [...people.values()].filter(({ devices }) => devices.length > 0);
  const alone = [...people.values()].filter(({ devices }) => devices.length === 0);
  const isComplete = subjects.length === count;
  const userCount = isComplete ? people.size : users;
  const named = isComplete ? namedOf(people.size + others.length) : mostNamed;
  const items = [
    ...withDevices.map((person) => ({
      text: formatPerson(person),
      records: [person.user, ...person.devices],
      count: person.devices.length + Number(person.isAlone),
    })),
    ...others.map((line) => ({ ...line, count: 1 })),
  ].slice(0, named);
  const shownAlone = alone.slice(0, named - items.length).map(({ user }) => user);
  const shown = items.reduce((sum, item) => sum + item.count, shownAlone.length);
  const shownPeople = Math.min(withDevices.length, named) + shownAlone.length;
  return [
    ...items.map(({ text, records }) => ({ text, records })),
    ...(shownAlone.length === 0 ? [] : [{ text: formatAlone(shownAlone), records: shownAlone }]),
    ...(shown === count
      ? []
      : [
          {
            text:
              userCount !== undefined && userCount > shownPeople && others.length === 0
                ? t("records.effect.moreUsers", { count: userCount - shownPeople })
                : t("records.effect.moreSubjects", { count: count - shown }),
            records: [],
          },
        ]),
  ];
}

function deviceOf({ id, name }: Subject): NamedRecord {
  return { path: "devices", id, name };
}

function formatAlone(users: readonly NamedRecord[]): string {
  return t("records.effect.userWithoutDevice", { name: formatCellList(users.map(({ name }) => name)) });
}

function formatPerson({ user: { name }, devices, isAlone }: Person): string {
  const own = devices.map((device) => device.name);
  const ways = isAlone ? [...own, t("records.effect.withoutDevice")] : own;
  return t("records.effect.userOnDevice", { user: name, device: formatCellList(ways) });
}
