/** Builds a rule from conditions. */
import {
  Button,
  Checkbox,
  Group,
  Input,
  Menu,
  MultiSelect,
  NumberInput,
  Paper,
  SegmentedControl,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { Plus } from "lucide-react";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { choosesFound } from "../../records/choose-found.ts";
import { readFactValue, useFactRecords } from "../../records/fact-counts.ts";
import { RemoveRow } from "../../records/remove-row.tsx";
import { type BuiltRule, type Comparison, type Condition, writeRule } from "../../records/rule-conditions.ts";
import { HoursFields, Zone } from "../../records/time-fields.tsx";
import { FactName, FactValue, GroupName, MetNow } from "./condition-pickers.tsx";
import { countries } from "./countries.ts";
import { conditionProblem } from "./rule-problems.ts";
import { WeekStrip } from "./week-strip.tsx";

interface RuleBuilderProps {
  readonly rule: BuiltRule;
  /** @param text the text of the whole rule */
  readonly onChange: (text: string) => void;
  /** Whether to say what is wrong with each condition. */
  readonly showsProblems: boolean;
}

const ownTimeZone = formatOwnZone();

const kinds: readonly { readonly label: string; readonly condition: Condition }[] = [
  { label: t("admissionRules.builder.kinds.country"), condition: { kind: "country", not: false, countries: [] } },
  {
    label: t("admissionRules.builder.kinds.days"),
    condition: { kind: "days", zone: ownTimeZone, days: [1, 2, 3, 4, 5] },
  },
  {
    label: t("admissionRules.builder.kinds.hours"),
    condition: { kind: "hours", zone: ownTimeZone, from: 8 * 60, to: 18 * 60 },
  },
  {
    label: t("admissionRules.builder.kinds.posture"),
    condition: { kind: "posture", name: "diskEncrypted", comparison: "==", value: true },
  },
  {
    label: t("admissionRules.builder.kinds.attribute"),
    condition: { kind: "user", name: "department", comparison: "==", value: "" },
  },
  { label: t("admissionRules.builder.kinds.agent"), condition: { kind: "agent", not: false } },
  { label: t("admissionRules.builder.kinds.group"), condition: { kind: "group", not: false, group: "" } },
  { label: t("admissionRules.builder.kinds.tag"), condition: { kind: "tag", not: false, tag: "" } },
  { label: t("admissionRules.builder.kinds.session"), condition: { kind: "session", amount: 8, unit: "h" } },
];

export function RuleBuilder({ rule: { match, conditions }, onChange, showsProblems }: RuleBuilderProps) {
  const write = (next: readonly Condition[], how = match) => onChange(writeRule({ match: how, conditions: next }));
  return (
    <Stack gap="sm">
      {conditions.length > 1 && (
        <Group gap="xs">
          <Text size="sm">{t("admissionRules.builder.match")}</Text>
          <SegmentedControl
            size="xs"
            aria-label={t("admissionRules.builder.matchLabel")}
            value={match}
            onChange={(next) => write(conditions, next)}
            data={[
              { value: "all", label: t("admissionRules.builder.matchAll") },
              { value: "any", label: t("admissionRules.builder.matchAny") },
            ]}
          />
        </Group>
      )}
      {conditions.length === 0 && (
        <Text size="sm" c="dimmed">
          {t("admissionRules.builder.empty")}
        </Text>
      )}
      {conditions.map((condition, index) => {
        const problem = showsProblems ? conditionProblem(condition) : undefined;
        const set = (next: Condition) => write(conditions.map((each, other) => (other === index ? next : each)));
        return (
          <Paper
            withBorder
            p="xs"
            className="removable-row"
            // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its index
            key={index}
            role="group"
            aria-label={t("admissionRules.builder.condition", { number: index + 1 })}
          >
            <Group gap="xs" align="flex-end" className="row-fields">
              <ConditionFields condition={condition} set={set} />
            </Group>
            <RemoveRow
              label={t("admissionRules.builder.remove", { number: index + 1 })}
              onClick={() => write(conditions.filter((_, other) => other !== index))}
            />
            <MetNow condition={condition} />
            {problem !== undefined && <Input.Error mt={4}>{problem}</Input.Error>}
          </Paper>
        );
      })}
      <WeekStrip rule={{ match, conditions }} />
      {/* Outside the dialog, whose edges would cut the menu off. */}
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} aria-hidden />}
            style={{ alignSelf: "start" }}
          >
            {t("admissionRules.builder.add")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {kinds.map(({ label, condition }) => (
            <Menu.Item key={label} onClick={() => write([...conditions, condition])}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Stack>
  );
}

interface ConditionFieldsProps<C> {
  readonly condition: C;
  readonly set: (condition: Condition) => void;
}

const weekdays = [
  [1, "monday"],
  [2, "tuesday"],
  [3, "wednesday"],
  [4, "thursday"],
  [5, "friday"],
  [6, "saturday"],
  [0, "sunday"],
] as const;

function ConditionFields({ condition, set }: ConditionFieldsProps<Condition>) {
  switch (condition.kind) {
    case "country":
      return (
        <>
          <Is
            not={condition.not}
            label={t("admissionRules.builder.country")}
            yes={t("admissionRules.builder.countryIn")}
            no={t("admissionRules.builder.countryNotIn")}
            set={(not) => set({ ...condition, not })}
          />
          <MultiSelect
            label={t("admissionRules.builder.countries")}
            data={withUnknown(countries, condition.countries)}
            value={[...condition.countries]}
            onChange={(codes) => set({ ...condition, countries: codes })}
            searchable
            {...choosesFound}
            hidePickedOptions
            limit={50}
            nothingFoundMessage={t("records.picker.noResults")}
            style={{ flex: 1 }}
            miw={160}
          />
        </>
      );
    case "days":
      return (
        <>
          <Checkbox.Group
            label={t("admissionRules.builder.days")}
            value={condition.days.map(String)}
            onChange={(days) => set({ ...condition, days: days.map(Number) })}
          >
            <Group gap="xs" py={6}>
              {weekdays.map(([day, name]) => (
                <Checkbox key={day} value={String(day)} label={t(`admissionRules.builder.weekdays.${name}`)} />
              ))}
            </Group>
          </Checkbox.Group>
          <Zone zone={condition.zone} set={(zone) => set({ ...condition, zone })} />
        </>
      );
    case "hours":
      return <HoursFields hours={condition} set={(changed) => set({ ...condition, ...changed })} />;
    case "group":
      return (
        <>
          <Is
            not={condition.not}
            label={t("admissionRules.builder.user")}
            yes={t("admissionRules.builder.inGroup")}
            no={t("admissionRules.builder.notInGroup")}
            set={(not) => set({ ...condition, not })}
          />
          <GroupName value={condition.group} onChange={(group) => set({ ...condition, group })} />
        </>
      );
    case "tag":
      return (
        <>
          <Is
            not={condition.not}
            label={t("admissionRules.builder.device")}
            yes={t("admissionRules.builder.hasTag")}
            no={t("admissionRules.builder.hasNotTag")}
            set={(not) => set({ ...condition, not })}
          />
          <TextInput
            label={t("admissionRules.builder.tag")}
            maxLength={63}
            value={condition.tag}
            onChange={({ currentTarget }) => set({ ...condition, tag: currentTarget.value })}
            style={{ flex: 1 }}
            miw={160}
          />
        </>
      );
    case "session":
      return (
        <>
          <NumberInput
            label={t("admissionRules.builder.signedInWithin")}
            min={1}
            max={999_999}
            allowDecimal={false}
            clampBehavior="strict"
            value={condition.amount === 0 ? "" : condition.amount}
            onChange={(amount) => set({ ...condition, amount: Number(amount) })}
            w={200}
          />
          <Select
            label={t("admissionRules.builder.unit")}
            data={[
              { value: "m", label: t("admissionRules.builder.minutes") },
              { value: "h", label: t("admissionRules.builder.hours") },
            ]}
            value={condition.unit}
            allowDeselect={false}
            onChange={(unit) => set({ ...condition, unit: unit === "m" ? "m" : "h" })}
            w={130}
          />
        </>
      );
    case "agent":
      return (
        <Is
          not={condition.not}
          label={t("admissionRules.builder.agent")}
          yes={t("admissionRules.builder.runsAgent")}
          no={t("admissionRules.builder.runsOther")}
          set={(not) => set({ ...condition, not })}
        />
      );
    default:
      return <ComparisonFields condition={condition} set={set} />;
  }
}

type ComparedCondition = Extract<Condition, { readonly kind: "posture" | "user" }>;

const comparisons: readonly { readonly value: Comparison; readonly label: string }[] = [
  { value: "==", label: t("admissionRules.builder.comparisons.is") },
  { value: "!=", label: t("admissionRules.builder.comparisons.isNot") },
  { value: ">=", label: t("admissionRules.builder.comparisons.atLeast") },
  { value: "<=", label: t("admissionRules.builder.comparisons.atMost") },
];

function ComparisonFields({ condition, set }: ConditionFieldsProps<ComparedCondition>) {
  const { kind } = condition;
  const facts = useFactRecords(kind)?.facts ?? [];
  const write = (name: string, value: string) =>
    set({ ...condition, name, value: readFactValue(kind, name, value, facts) });
  return (
    <>
      <FactName
        kind={condition.kind}
        value={condition.name}
        onChange={(name) => write(name, String(condition.value))}
      />
      <Select
        label={t("admissionRules.builder.comparison")}
        data={[...comparisons]}
        value={condition.comparison}
        allowDeselect={false}
        onChange={(next) =>
          set({ ...condition, comparison: comparisons.find(({ value }) => value === next)?.value ?? "==" })
        }
        w={120}
      />
      <FactValue
        kind={condition.kind}
        name={condition.name}
        value={String(condition.value)}
        onChange={(text) => write(condition.name, text)}
      />
    </>
  );
}

interface IsProps {
  readonly label: string;
  readonly not: boolean;
  readonly yes: string;
  readonly no: string;
  readonly set: (not: boolean) => void;
}

function Is({ label, not, yes, no, set }: IsProps) {
  return (
    <Select
      label={label}
      data={[
        { value: "yes", label: yes },
        { value: "no", label: no },
      ]}
      value={not ? "no" : "yes"}
      allowDeselect={false}
      onChange={(value) => set(value === "no")}
      w={130}
    />
  );
}

/** Keeps codes that the list does not have, such as those of a rule that was written as text. */
function withUnknown(known: typeof countries, codes: readonly string[]) {
  const others = codes.filter((code) => !known.some(({ value }) => value === code));
  return [...known, ...others.map((code) => ({ value: code, label: code }))];
}
