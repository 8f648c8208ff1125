import type { VNode } from 'preact';
import type { Html } from '../web/prose.js';
import type { DocsPage } from './page.js';

/** The address of a link's target for a reader of Markdown. */
type Leads = (href: string) => string;

/** An element of a page, or text. The components that made it are gone. */
type Node = string | Element;

interface Element {
  readonly tag: string;
  readonly props: Readonly<Record<string, unknown>>;
  /** Where a link leads; '' of any other element. */
  readonly href: string;
  readonly inside: readonly Node[];
}

const nodesOf = (html: Html, leads: Leads): readonly Node[] => {
  if (Array.isArray(html)) return html.flatMap((each: Html) => nodesOf(each, leads));
  if (html === null || html === undefined || typeof html === 'boolean') return [];
  if (typeof html !== 'object') return [String(html)];
  const { type, props } = html as VNode<Record<string, unknown>>;
  // Components are functions of their properties here: no page has a state.
  if (typeof type !== 'string') return nodesOf((type as (given: typeof props) => Html)(props), leads);
  const href = type === 'a' ? leads(String(props['href'])) : '';
  return [{ tag: type, props, href, inside: nodesOf(props.children, leads) }];
};

/** Elements for browsers alone: forms, and words for readers who see no columns. */
const leftOut = new Set(['form', 'legend', 'label', 'input', 'button', 'noscript']);
const isLeftOut = ({ tag, props: { class: name } }: Element): boolean =>
  leftOut.has(tag) || ['try', 'hidden', 'actions'].includes(String(name));

const textOf = (nodes: readonly Node[]): string =>
  nodes.map((node) => (typeof node === 'string' ? node : textOf(node.inside))).join('');

const inline = (nodes: readonly Node[]): string =>
  nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if (isLeftOut(node)) return '';
      const { tag, href, inside } = node;
      if (tag === 'code') return `\`${textOf(inside)}\``;
      if (tag === 'strong') return `**${inline(inside)}**`;
      if (tag === 'a') return `[${inline(inside)}](${href})`;
      return inline(inside);
    })
    .join('');

const elementsIn = (nodes: readonly Node[], ...tags: readonly string[]): readonly Element[] =>
  nodes.flatMap((node) => {
    if (typeof node === 'string') return [];
    return tags.includes(node.tag) ? [node] : elementsIn(node.inside, ...tags);
  });

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

const table = (inside: readonly Node[]): string => {
  const [head = [], ...body] = elementsIn(inside, 'tr').map((each) =>
    elementsIn(each.inside, 'th', 'td').map((cell) => inline(cell.inside)),
  );
  return [row(head), row(head.map(() => '---')), ...body.map(row)].join('\n');
};

const list = (items: readonly (readonly string[])[]): string =>
  items.map((parts) => `- ${parts.join('\n\n').replaceAll(/\n(?=.)/g, '\n  ')}`).join('\n');

const inLine = new Set(['a', 'code', 'strong', 'span']);

const blockOf = (element: Element): readonly string[] => {
  const { tag, props, inside } = element;
  if (isLeftOut(element)) return [];
  switch (tag) {
    case 'p':
      return [inline(inside)];
    case 'h3':
      return [`### ${inline(inside)}`];
    case 'figcaption':
    case 'summary':
      return [`**${inline(inside)}**`];
    case 'pre':
      return [`\`\`\`${String(props['data-language'])}\n${textOf(inside)}\n\`\`\``];
    case 'ul':
    case 'ol':
      return [list(elementsIn(inside, 'li').map((item) => blocks(item.inside)))];
    case 'dl':
      return [
        list(
          inside.map((field) => [
            elementsIn([field], 'dt', 'dd')
              .map((each) => inline(each.inside))
              .join(': '),
          ]),
        ),
      ];
    case 'table':
      return [table(inside)];
    default:
      return blocks(inside);
  }
};

/** The paragraphs, lists, tables and samples of a part of a page. */
const blocks = (nodes: readonly Node[]): readonly string[] => {
  const found: string[] = [];
  let open: Node[] = [];
  const close = (): void => {
    const paragraph = inline(open).trim();
    if (paragraph !== '') found.push(paragraph);
    open = [];
  };
  for (const node of nodes)
    if (typeof node === 'string' || inLine.has(node.tag)) open.push(node);
    else {
      close();
      found.push(...blockOf(node));
    }
  close();
  return found;
};

const unsearched = new Set(['pre', 'form', 'thead', 'noscript']);

const spaced = (nodes: readonly Node[]): string =>
  nodes
    .map((node) =>
      typeof node === 'string' ? node : unsearched.has(node.tag) ? ' ' : ` ${spaced(node.inside)} `,
    )
    .join('');

/** The words of a part of a page, without its samples and forms. */
export const wordsIn = (html: Html): string =>
  spaced(nodesOf(html, (href) => href))
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A page as Markdown, to copy for people and programs. */
export const markdownOf = ({ title, about, lead, parts }: DocsPage, leads: Leads): string =>
  [
    `# ${title}`,
    about,
    ...blocks(nodesOf(lead, leads)),
    ...parts.flatMap((part) => [`## ${part.title}`, ...blocks(nodesOf(part.body, leads))]),
  ].join('\n\n') + '\n';
