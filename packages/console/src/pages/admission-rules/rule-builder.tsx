/** Builds a rule from conditions. */
import {
  ActionIcon,
  Button,
  Checkbox,
  Group,
  Menu,
  NumberInput,
  Paper,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { Plus, X } from "lucide-react";
import { t } from "../../messages/i18n.ts";
import { type BuiltRule, type Comparison, type Condition, type Plain, writeRule } from "./rule-conditions.ts";

interface RuleBuilderProps {
  readonly rule: BuiltRule;
  /** @param text the text of the whole rule */
  readonly onChange: (text: string) => void;
}

const ownTimeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const kinds: readonly { readonly label: string; readonly condition: Condition }[] = [
  { label: t("admissionRules.builder.kinds.country"), condition: { kind: "country", not: false, countries: [] } },
  {
    label: t("admissionRules.builder.kinds.days"),
    condition: { kind: "days", zone: ownTimeZone, days: [1, 2, 3, 4, 5] },
  },
  { label: t("admissionRules.builder.kinds.hours"), condition: { kind: "hours", zone: ownTimeZone, from: 8, to: 18 } },
  {
    label: t("admissionRules.builder.kinds.posture"),
    condition: { kind: "posture", name: "diskEncrypted", comparison: "==", value: true },
  },
  {
    label: t("admissionRules.builder.kinds.attribute"),
    condition: { kind: "user", name: "department", comparison: "==", value: "" },
  },
  { label: t("admissionRules.builder.kinds.group"), condition: { kind: "group", not: false, group: "" } },
];

export function RuleBuilder({ rule: { match, conditions }, onChange }: RuleBuilderProps) {
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
      {conditions.length === 0 && <Text c="dimmed">{t("admissionRules.builder.empty")}</Text>}
      {conditions.map((condition, index) => {
        const set = (next: Condition) => write(conditions.map((each, other) => (other === index ? next : each)));
        return (
          <Paper
            withBorder
            p="xs"
            // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its index
            key={index}
            role="group"
            aria-label={t("admissionRules.builder.condition", { number: index + 1 })}
          >
            <Group wrap="nowrap" align="flex-end" justify="space-between">
              <Group gap="xs" align="flex-end" style={{ flex: 1 }}>
                <ConditionFields condition={condition} set={set} />
              </Group>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={t("admissionRules.builder.remove", { number: index + 1 })}
                onClick={() => write(conditions.filter((_, other) => other !== index))}
              >
                <X size={16} aria-hidden />
              </ActionIcon>
            </Group>
          </Paper>
        );
      })}
      <Menu position="bottom-start">
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
          <TagsInput
            label={t("admissionRules.builder.countries")}
            placeholder="DE"
            value={[...condition.countries]}
            onChange={(countries) => set({ ...condition, countries: countries.map((code) => code.toUpperCase()) })}
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
      return (
        <>
          <Hour
            label={t("admissionRules.builder.from")}
            value={condition.from}
            min={0}
            max={condition.to - 1}
            set={(from) => set({ ...condition, from })}
          />
          <Hour
            label={t("admissionRules.builder.until")}
            value={condition.to}
            min={condition.from + 1}
            max={24}
            set={(to) => set({ ...condition, to })}
          />
          <Zone zone={condition.zone} set={(zone) => set({ ...condition, zone })} />
        </>
      );
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
          <TextInput
            label={t("admissionRules.builder.group")}
            value={condition.group}
            onChange={({ currentTarget }) => set({ ...condition, group: currentTarget.value })}
            style={{ flex: 1 }}
          />
        </>
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
  return (
    <>
      <TextInput
        label={
          condition.kind === "posture" ? t("admissionRules.builder.posture") : t("admissionRules.builder.attribute")
        }
        value={condition.name}
        onChange={({ currentTarget }) =>
          set({ ...condition, name: currentTarget.value.replaceAll(/\W/g, "") || "name" })
        }
        w={150}
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
      <TextInput
        label={t("admissionRules.builder.value")}
        value={String(condition.value)}
        onChange={({ currentTarget }) => set({ ...condition, value: plainOf(currentTarget.value) })}
        style={{ flex: 1 }}
      />
    </>
  );
}

function plainOf(text: string): Plain {
  if (text === "true" || text === "false") return text === "true";
  return /^-?(0|[1-9]\d{0,8})$/.test(text) && text !== "-0" ? Number(text) : text;
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

interface HourProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly set: (hour: number) => void;
}

function Hour({ label, value, min, max, set }: HourProps) {
  return (
    <NumberInput
      label={label}
      value={value}
      min={min}
      max={max}
      allowDecimal={false}
      clampBehavior="strict"
      suffix=":00"
      hideControls
      onChange={(hour) => {
        if (typeof hour === "number" && hour >= min && hour <= max) set(hour);
      }}
      w={80}
    />
  );
}

const zones = Intl.supportedValuesOf("timeZone");

function Zone({ zone, set }: { readonly zone: string; readonly set: (zone: string) => void }) {
  return (
    <Select
      label={t("admissionRules.builder.timeZone")}
      data={zones.includes(zone) ? zones : [zone, ...zones]}
      value={zone}
      searchable
      limit={50}
      allowDeselect={false}
      onChange={(next) => set(next ?? zone)}
      style={{ flex: 1 }}
      miw={150}
    />
  );
}
