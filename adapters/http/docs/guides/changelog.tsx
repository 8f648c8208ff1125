import { fileOf } from '../../web/prose.js';
import { part } from '../text.js';
import type { Guide } from '../page.js';

/** Lines that go on with the one before are joined to it: paragraphs, items of lists, headings. */
const blocksOf = (lines: readonly string[]): readonly string[] => {
  const blocks: string[] = [];
  let isOpen = false;
  for (const each of lines.map((value) => value.trim())) {
    if (each === '') isOpen = false;
    else if (isOpen && !/^(- |#)/.test(each)) blocks.push(`${blocks.pop() ?? ''} ${each}`);
    else {
      blocks.push(each);
      isOpen = !each.startsWith('#');
    }
  }
  return blocks;
};

const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** A part of the changelog below a heading of the second level; those of the third level divide it. */
const chapterOf = (markdown: string) => {
  const [heading = '', ...lines] = markdown.split('\n');
  const title = heading.replaceAll(/[[\]]/g, '');
  const blocks = blocksOf(lines).map((block) =>
    block.startsWith('### ') ? <h3>{block.slice(4)}</h3> : block,
  );
  return part(idOf(title), title, ...blocks);
};

/** The policy and the changes, as the repository keeps them. */
export const changelog: Guide = () => [
  part(
    'version-in-the-path',
    'The version in the path',
    'The version of the API is part of its path, `/api/v1`. Webhooks carry theirs in the user agent `Service-Webhooks/1` and in the `v1` of the signature. Within a version things are added, and never changed or taken away: ignore fields that you do not know, and treat an unknown error code by its status.',
  ),
  ...fileOf('CHANGELOG.md').split(/^## /m).slice(1).map(chapterOf),
];
