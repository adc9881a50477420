/** Markdown as elements. The parser gives tokens, so no text of a document becomes HTML. */
import { Anchor, Blockquote, Code, List, Stack, Table, Text, Title, type TitleOrder } from "@mantine/core";
import { marked, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import { t } from "../../messages/i18n.ts";
import { curlQuotes } from "../../messages/quotation-marks.ts";
import { CodeLines } from "../../records/code-lines.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { WholeWords } from "../../records/whole-words.tsx";
import { isGuide } from "./guide-texts.ts";
import { headingId } from "./heading-id.ts";

/** References to decision records, which the console does not show, such as ` ([0141](decisions/0141-my-page.md))`. */
const decisions = /\s\(\[\d{4}\]\(decisions\/[^)]*\)(?:,\s\[\d{4}\]\(decisions\/[^)]*\))*\)/g;

/** Headings stand out from the text by their size, by their depth. */
const headingSizes: Readonly<Record<number, string>> = { 2: "1.1875rem", 3: "1rem" };

/** Links to a heading show it below the bar at the top of the page. */
const belowHeader = "calc(var(--app-shell-header-height) + var(--mantine-spacing-md))";

export function GuideText({ markdown }: { readonly markdown: string }) {
  const [first, ...rest] = marked.lexer(markdown.replaceAll(decisions, "")).filter(({ type }) => type !== "space");
  // The page shows the title of the document.
  const blocks = first?.type === "heading" ? rest : [first, ...rest];
  return (
    <Stack gap="sm">{blocks.map((token, index) => token && <Block key={keyOf(token, index)} token={token} />)}</Stack>
  );
}

function keyOf({ raw }: Token, index: number): string {
  return `${index} ${raw.slice(0, 40)}`;
}

function cellKey(cell: Tokens.TableCell | undefined, index: number): string {
  return `${index} ${cell?.text}`;
}

function Block({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens, text } = token as Tokens.Heading;
      return (
        <Title
          order={Math.min(depth, 6) as TitleOrder}
          size={headingSizes[depth] ?? "md"}
          id={headingId(text)}
          mt={depth === 2 ? "md" : "xs"}
          style={{ scrollMarginTop: belowHeader }}
        >
          <Inline tokens={tokens} />
        </Title>
      );
    }
    case "paragraph":
    case "text": {
      const { tokens = [] } = token as Tokens.Paragraph;
      // Pictures show pages of the console itself.
      if (tokens.length > 0 && tokens.every(({ type }) => type === "image")) return null;
      return (
        <Text component="p" m={0}>
          <Inline tokens={tokens} />
        </Text>
      );
    }
    case "list": {
      const { ordered, items } = token as Tokens.List;
      return (
        <List type={ordered ? "ordered" : "unordered"} spacing={4} withPadding>
          {items.map((item, index) => (
            <List.Item key={keyOf(item, index)}>
              {item.tokens.map((part, place) =>
                part.type === "text" ? (
                  <Inline key={keyOf(part, place)} tokens={(part as Tokens.Text).tokens ?? []} />
                ) : (
                  <Block key={keyOf(part, place)} token={part} />
                ),
              )}
            </List.Item>
          ))}
        </List>
      );
    }
    case "code":
      return <CodeLines>{(token as Tokens.Code).text}</CodeLines>;
    case "table":
      return <GuideTable table={token as Tokens.Table} />;
    case "blockquote":
      return (
        <Blockquote p="sm" m={0}>
          {(token as Tokens.Blockquote).tokens.map((part, index) => (
            <Block key={keyOf(part, index)} token={part} />
          ))}
        </Blockquote>
      );
    default:
      // Comments and definitions have no text for readers.
      return null;
  }
}

function GuideTable({ table: { header, rows } }: { readonly table: Tokens.Table }) {
  return (
    <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="group" aria-label={header[0]?.text ?? ""}>
      <Table verticalSpacing={6} className="guide-table">
        <Table.Thead>
          <Table.Tr>
            {header.map((cell, index) => (
              <Table.Th key={cellKey(cell, index)}>
                <Inline tokens={cell.tokens} />
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, line) => (
            <Table.Tr key={cellKey(row[0], line)}>
              {row.map((cell, index) => (
                <Table.Td key={cellKey(cell, index)}>
                  <Inline tokens={cell.tokens} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Inline({ tokens }: { readonly tokens: readonly Token[] }) {
  return tokens.map((token, index) => (
    <Fragment key={keyOf(token, index)}>{inlineOf(token, /\S$/.test(tokens[index - 1]?.raw ?? ""))}</Fragment>
  ));
}

/** A method and a path that fit on the line of a phone, so that they do not read as two. */
const shortOperation = /^[A-Z]+ \/.{1,34}$/;

/** @param isContinued whether other text stands directly before the token */
function inlineOf(token: Token, isContinued: boolean): ReactNode {
  switch (token.type) {
    case "strong":
      return (
        <strong>
          <Inline tokens={(token as Tokens.Strong).tokens} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={(token as Tokens.Em).tokens} />
        </em>
      );
    case "codespan": {
      const { text } = token as Tokens.Codespan;
      if (shortOperation.test(text)) return <Code className="one-line">{text}</Code>;
      return (
        <Code className="guide-words">
          <WholeWords text={text} />
        </Code>
      );
    }
    case "link":
      return <GuideAnchor link={token as Tokens.Link} />;
    case "br":
      return <br />;
    case "image":
    case "html":
      return null;
    default: {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? curlQuotes(text, isContinued) : <Inline tokens={tokens} />;
    }
  }
}

/** The text of a link that names a document by its file, such as gateway.md. */
const fileName = /^`?[\w-]+\.md`?$/;

/** A link to another guide, a heading or another site. Documents that the console does not show are plain text. */
function GuideAnchor({ link: { href, text: linked, tokens } }: { readonly link: Tokens.Link }) {
  const text = <Inline tokens={tokens} />;
  if (/^https?:/.test(href)) {
    return (
      <Anchor href={href} target="_blank" rel="noreferrer" inherit underline="always">
        {text}
      </Anchor>
    );
  }
  const [, name, section = ""] = /^(?:([\w-]+)\.md)?(#.*)?$/.exec(href) ?? [];
  if (name === "errors") {
    return (
      <Anchor href={`/errors${section.replace("#", "/")}`} target="_blank" inherit underline="always">
        {text}
      </Anchor>
    );
  }
  if (name === undefined && section !== "") {
    return (
      <Anchor href={section} inherit underline="always">
        {text}
      </Anchor>
    );
  }
  if (name === undefined || !isGuide(name)) return text;
  return (
    <RecordLink to={`/guides/${name}${section}`} inText>
      {/* Readers of the console know a guide by its name, not by its file. */}
      {fileName.test(linked) ? t(`guides.names.${name}`) : text}
    </RecordLink>
  );
}
