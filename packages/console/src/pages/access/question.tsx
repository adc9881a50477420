/** The question of the access page in one line. Address, country and time are collapsed. */
import {
  Collapse,
  Combobox,
  Group,
  InputBase,
  NumberInput,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useId, useRef, useState } from "react";
import { paged } from "../../app/api.ts";
import { formatOwnZone, formatShortTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { useAccessHistory } from "../../records/access-history.ts";
import { DateTimeField } from "../../records/date-time-field.tsx";
import { readDestination } from "../../records/read-destination.ts";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessSearch, isSingleHost, protocols, type useAccessSearch } from "./access-search.ts";

export interface QuestionProps {
  readonly query: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

export function Question({ query, change }: QuestionProps) {
  const { view } = query;
  const circumstances = useId();
  const [isOpen, setOpen] = useState(() => describeCircumstances(query) !== t("access.question.now"));
  const elements = {
    person: <Person query={query} change={change} />,
    device: <Device query={query} change={change} />,
    thing: <Thing query={query} change={change} />,
    // On a narrow screen, the verb ends the question, and the time stands below it.
    verb: <span className="verb" data-mark={t("access.question.mark")} />,
    when: <When query={query} isOpen={isOpen} toggle={() => setOpen(!isOpen)} controls={circumstances} />,
  };
  const message =
    view === "who" ? "access.question.who" : view === "what" ? "access.question.what" : "access.question.can";
  return (
    <Paper withBorder p="md" component="section" aria-label={t("access.query.region")}>
      <div className="question">
        <RichText message={message} elements={elements} />
      </div>
      <Collapse expanded={isOpen} id={circumstances}>
        <Circumstances query={query} change={change} />
      </Collapse>
    </Paper>
  );
}

interface WhenProps {
  readonly query: AccessSearch;
  readonly isOpen: boolean;
  readonly toggle: () => void;
  readonly controls: string;
}

function When({ query, isOpen, toggle, controls }: WhenProps) {
  // On a narrow screen, each field needs a word.
  return (
    <span className="when" data-word={t("access.question.when")}>
      <span className="when-field">
        <InputBase
          component="button"
          type="button"
          pointer
          aria-expanded={isOpen}
          aria-controls={controls}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          onClick={toggle}
        >
          {describeCircumstances(query)}
        </InputBase>
        <span className="mark">{t("access.question.mark")}</span>
      </span>
    </span>
  );
}

/** Such as "now" or "on 3 Mar 2026, 09:30, from 198.51.100.7, in DE". */
function describeCircumstances({ at, ip, country }: AccessSearch): string {
  const parts = [
    at === "" ? t("access.question.now") : t("access.question.at", { at: formatShortTime(at) }),
    ...(ip === "" ? [] : [t("access.question.from", { ip })]),
    ...(country === "" ? [] : [t("access.question.in", { country })]),
  ];
  return parts.join(", ");
}

function Circumstances({ query, change }: QuestionProps) {
  const { view, at, past, country, ip } = query;
  const byAddress = query.byAddress && view !== "what";
  const isPast = !byAddress && (view !== "can" || past);
  const begins = useAccessHistory(isPast)?.begins;
  return (
    <Stack pt="md" gap="md">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <DateTimeField
          label={t("access.query.when", { zone: formatOwnZone() })}
          description={view === "can" || byAddress ? t("access.query.whenHelp") : t("access.query.whenHelpPast")}
          earliest={isPast ? begins : undefined}
          value={at}
          onChange={(value) => change({ at: value || undefined })}
          inputWrapperOrder={["label", "input", "description"]}
        />
        <TypedText
          label={t("access.query.sourceIp")}
          placeholder={t("common.example", { value: "198.51.100.7" })}
          value={ip}
          onChange={(ip) => change({ ip })}
        />
        <TextInput
          label={t("access.query.country")}
          placeholder={t("common.example", { value: "DE" })}
          maxLength={2}
          value={country}
          onChange={({ currentTarget: { value } }) =>
            change({ country: value.toUpperCase().replaceAll(/[^A-Z]/g, "") })
          }
        />
      </SimpleGrid>
      {byAddress ? (
        <Text size="sm" c="dimmed">
          {t("access.query.pastNotForAddress")}
        </Text>
      ) : (
        view === "can" && (
          <Switch
            label={t("access.query.past")}
            description={t("access.query.pastHelp")}
            checked={past}
            onChange={({ currentTarget }) => change({ past: currentTarget.checked ? "1" : undefined })}
          />
        )
      )}
    </Stack>
  );
}

/** People connect with a device, so an answer about a person alone would mislead. */
async function lastSeenDevice(user: string): Promise<string | undefined> {
  const { data } = await paged("/tenants/devices").read({
    "filter[user.id]": user,
    "filter[active]": "true",
    sort: "-lastConnection",
    limit: 1,
  });
  return data[0]?.id;
}

function Person({ query: { view, user }, change }: QuestionProps) {
  const chosen = useRef(user);
  const choose = async (id: string) => {
    chosen.current = id;
    change({ user: id, device: undefined });
    if (id === "" || view !== "can") return;
    // Without permission to read devices, the person chooses none.
    const last = await lastSeenDevice(id).catch(() => undefined);
    if (last !== undefined && chosen.current === id) change({ user: id, device: last });
  };
  return (
    <RecordSelect
      path="/tenants/users"
      label={t("access.query.user")}
      isLabelHidden
      placeholder={t("access.query.userPlaceholder")}
      value={user}
      onChange={(id) => void choose(id)}
    />
  );
}

function Device({ query: { view, user, device }, change }: QuestionProps) {
  return (
    <RecordSelect
      path="/tenants/devices"
      label={t("access.query.device")}
      isLabelHidden
      placeholder={
        user === ""
          ? t("access.query.devicePlaceholder")
          : view === "what"
            ? t("access.query.deviceAny")
            : t("access.query.deviceNone")
      }
      // The default applies to a user.
      {...(user === "" ? {} : { className: "effective-default" })}
      query={user === "" ? {} : { "filter[user.id]": user }}
      value={device}
      onChange={(id) => change({ device: id })}
    />
  );
}

function Thing({ query: { byAddress, resource, address, protocol, port }, change }: QuestionProps) {
  return (
    <Group gap={8}>
      <Select
        className="kind"
        aria-label={t("access.query.destination")}
        data={[
          { value: "resource", label: t("access.query.byResource") },
          { value: "address", label: t("access.query.byAddress") },
        ]}
        value={byAddress ? "address" : "resource"}
        allowDeselect={false}
        onChange={(to) => change({ to: to === "address" ? to : undefined })}
      />
      {byAddress ? (
        <>
          <TypedText
            aria-label={t("access.query.address")}
            placeholder={t("access.query.addressPlaceholder")}
            value={address}
            onChange={(next) => change(partsOf(next))}
            error={address === "" || isSingleHost(address) ? undefined : t("access.query.addressInvalid")}
          />
          <Group wrap="nowrap" gap={8}>
            <Select
              aria-label={t("access.query.protocol")}
              placeholder={t("access.query.protocolAny")}
              className="effective-default"
              data={[...protocols]}
              value={protocol ?? null}
              onChange={(next) => change({ protocol: next ?? undefined })}
              clearable
              clearButtonProps={{ "aria-label": t("access.query.anyProtocol") }}
              style={{ flex: 1 }}
            />
            <NumberInput
              aria-label={t("access.query.port")}
              placeholder={
                protocol === undefined
                  ? t("access.query.portOfProtocol")
                  : protocol === "ICMP"
                    ? t("access.query.portNone")
                    : t("access.query.portAny")
              }
              min={1}
              max={65_535}
              allowDecimal={false}
              allowNegative={false}
              hideControls
              className="effective-default"
              disabled={protocol !== "TCP" && protocol !== "UDP"}
              value={port ?? ""}
              onChange={(next) => change({ port: next === "" ? undefined : String(next) })}
              style={{ flex: 1 }}
            />
          </Group>
        </>
      ) : (
        <RecordSelect
          path="/tenants/resources"
          label={t("access.query.resource")}
          isLabelHidden
          placeholder={t("access.query.resourcePlaceholder")}
          value={resource}
          onChange={(id) => change({ resource: id })}
        />
      )}
    </Group>
  );
}

/** A URL or a host with a port becomes a host, TCP and the port. Other text stays for the person to correct. */
function partsOf(text: string) {
  const { address, port } = readDestination(text) ?? {};
  return address === undefined || port === undefined
    ? { address: text }
    : { address, protocol: "TCP", port: String(port) };
}

interface TypedTextProps {
  readonly label?: string;
  readonly "aria-label"?: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
}

/** Changes the query when the user stops typing, because half an address is invalid. */
function TypedText({ value, onChange, ...input }: TypedTextProps) {
  const [typed, setTyped] = useState(value);
  const ask = useDebouncedCallback(onChange, 400);
  // Navigating back changes the URL, and with it the text of the field.
  useEffect(() => setTyped((now) => (now.trim() === value ? now : value)), [value]);
  return (
    <TextInput
      {...input}
      maxLength={253}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        ask(currentTarget.value.trim());
      }}
    />
  );
}
