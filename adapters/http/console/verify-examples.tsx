import { fileOf } from '../web/files.js';
import { block } from '../web/prose.js';
import { Panel } from '../web/parts.js';

/** Examples of the repository, which tests run. */
const examples = [
  { language: 'Node', file: 'verify-webhook.mjs' },
  { language: 'Python', file: 'receiver.py' },
] as const;

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
        {block(fileOf(`examples/${file}`))}
      </details>
    ))}
  </Panel>
);
