import { fileOf, type Html } from '../../web/prose.js';
import { Code } from '../code.js';
import type { Language } from '../highlight.js';
import { part } from '../text.js';
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

export const clients: Guide = ({ baseUrl }) => [
  part(
    'generators',
    'Generate it',
    'Each program below sends one card however often it runs, tells a 402 from a 422, and counts your cards page by page. Save it in an empty folder, put your key into `API_KEY`, and type the commands.',
    'openapi-generator needs Java, and this file in that folder:',
    <Code
      language="sh"
      source="mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.17.0 -DoutputDirectory=."
    />,
  ),
  ...Object.entries(programs).map(([name, title]) =>
    part(name.replace('.', '-'), title, listing(name, baseUrl)),
  ),
  part(
    'signatures',
    'Check a webhook’s signature',
    '[Webhooks and signatures](/docs/webhooks#signatures) says how, for Node and Python too. Give the functions the bytes of the body as they came; these programs read them from a file, and the header and the secret from `SIGNATURE` and `SECRET`.',
    ...['go', 'java', 'rb', 'php', 'cs'].map((language) => listing(`verify.${language}`, baseUrl)),
  ),
];
