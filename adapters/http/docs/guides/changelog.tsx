import { fileOf } from '../../web/files.js';
import { text } from '../text.js';
import { part, type Guide } from './guide.js';

interface Chapter {
  readonly title: string;
  readonly blocks: readonly string[];
}

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

/** The parts of the changelog below its headings of the second level. */
export const chaptersOf = (markdown: string): readonly Chapter[] =>
  markdown
    .split(/^## /m)
    .slice(1)
    .map((chapter) => {
      const [title = '', ...lines] = chapter.split('\n');
      return { title: title.replaceAll(/[[\]]/g, ''), blocks: blocksOf(lines) };
    });

/** The headings of the third level inside a chapter divide it. */
const divided = (blocks: readonly string[]) => {
  const runs: { heading: string | null; blocks: string[] }[] = [{ heading: null, blocks: [] }];
  for (const block of blocks)
    if (block.startsWith('### ')) runs.push({ heading: block.slice(4), blocks: [] });
    else runs.at(-1)?.blocks.push(block);
  return runs;
};

const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** The policy and the changes, as the repository keeps them. */
export const changelog: Guide = () => [
  part(
    'version-in-the-path',
    'The version in the path',
    text(
      'The version of the API is part of its path, `/api/v1`. Webhooks carry theirs in the user agent `Service-Webhooks/1` and in the `v1` of the signature. Within a version things are added, and never changed or taken away: ignore fields that you do not know, and treat an unknown error code by its status.',
    ),
  ),
  ...chaptersOf(fileOf('CHANGELOG.md')).map(({ title, blocks }) =>
    part(
      idOf(title),
      title,
      divided(blocks).map((run) => (
        <>
          {run.heading === null ? null : <h3>{run.heading}</h3>}
          {text(...run.blocks)}
        </>
      )),
    ),
  ),
];
