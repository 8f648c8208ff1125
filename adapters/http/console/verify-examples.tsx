import { readFileSync } from 'node:fs';
import { block } from '../web/prose.js';
import { Panel } from '../web/parts.js';

/** The examples of the repository, which tests run: beside `dist` in a checkout as in the image. */
const folder = new URL('../../../../examples/', import.meta.url);

const examples = [
  { language: 'Node', file: 'verify-webhook.mjs' },
  { language: 'Python', file: 'receiver.py' },
] as const;

const read = new Map<string, string>();

/** Reads a file when it is first shown. */
const textOf = (file: string): string => {
  const text = read.get(file) ?? readFileSync(new URL(file, folder), 'utf8');
  read.set(file, text);
  return text;
};

/** How a receiver checks that a delivery is genuine. */
export const VerifyExamples = () => (
  <Panel id="verify" title="Check the signature">
    <p>
      Anyone can send to your address. Each delivery carries <code>service-signature</code>: accept it only if
      the signature fits the raw bytes of the body, and was made within five minutes.
    </p>
    {examples.map(({ language, file }) => (
      <details>
        <summary>{language}</summary>
        {block(textOf(file))}
      </details>
    ))}
  </Panel>
);
