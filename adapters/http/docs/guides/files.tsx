import { fileOf, type Html } from '../../web/prose.js';
import { Code } from '../code.js';
import type { Language } from '../highlight.js';
import type { Guide } from '../page.js';

const programs = {
  'openapi-fetch.ts': 'TypeScript: openapi-typescript and openapi-fetch',
  'typescript-fetch.ts': 'TypeScript: openapi-generator',
  'openapi-python-client.py': 'Python: openapi-python-client',
  'openapi-generator.py': 'Python: openapi-generator',
  'oapi-codegen.go': 'Go: oapi-codegen',
  'openapi-generator.go': 'Go: openapi-generator',
  'openapi-generator.java': 'Java: openapi-generator',
  'openapi-generator.rb': 'Ruby: openapi-generator',
  'openapi-generator.php': 'PHP: openapi-generator',
  'openapi-generator.cs': 'C#: openapi-generator',
};

const command = /^(?:#|\/\/) \$ (.*)\n/gm;

/** The commands in the head of an example, and its program. */
const listing = (name: string, baseUrl: string): Html => {
  const file = fileOf(`examples/clients/${name}`).replaceAll('http://127.0.0.1:8080', baseUrl);
  return (
    <>
      <Code language="sh" source={[...file.matchAll(command)].map(([, typed]) => typed).join('\n')} />
      <Code
        language={name.replace(/.*\./, '') as Language}
        title={name}
        source={file.replaceAll(command, '').trim()}
      />
    </>
  );
};

export const clients: Guide = ({ baseUrl }) => ({
  generators: [
    'Generate it',
    'Each program below sends one card however often it runs, tells a 402 from a 422, and counts your cards page by page. Save it in an empty folder, put your key into `API_KEY`, and type the commands.',
    'openapi-generator needs Java, and this file in that folder:',
    <Code
      language="sh"
      source="mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.17.0 -DoutputDirectory=."
    />,
  ],
  ...Object.fromEntries(
    Object.entries(programs).map(([name, title]) => [
      name.replace('.', '-'),
      [title, listing(name, baseUrl)] as const,
    ]),
  ),
  signatures: [
    'Check a webhook’s signature',
    '[Webhooks and signatures](/docs/webhooks#signatures) says how, for Node and Python too. Give the functions the bytes of the body as they came; these programs read them from a file, and the header and the secret from `SIGNATURE` and `SECRET`.',
    ...['go', 'java', 'rb', 'php', 'cs'].map((language) => listing(`verify.${language}`, baseUrl)),
  ],
});

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
  return [idOf(title), [title, ...blocks]] as const;
};

/** The policy and the changes, as the repository keeps them. */
export const changelog: Guide = () => ({
  'version-in-the-path': [
    'The version in the path',
    'The version of the API is part of its path, `/api/v1`. Webhooks carry theirs in the user agent `Service-Webhooks/1` and in the `v1` of the signature. Within a version things are added, and never changed or taken away: ignore fields that you do not know, and treat an unknown error code by its status.',
  ],
  ...Object.fromEntries(fileOf('CHANGELOG.md').split(/^## /m).slice(1).map(chapterOf)),
});
