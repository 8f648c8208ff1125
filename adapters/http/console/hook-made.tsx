import { exampleMessage, exampleRecipient } from '../api/card-fields.js';
import { block, type Html } from '../web/prose.js';
import { Secret } from '../web/sample.js';
import type { Url } from '../web/url.js';

/** The line that sends a card through a hook. */
export const curlOf = (address: string): string =>
  `curl ${address} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ ...exampleRecipient, message: exampleMessage })}'`;

/** The response to the form: the only time that the URL of the hook is shown. */
export const hookMade = (address: string, next: Url): Html => (
  <>
    <h1>Your new hook</h1>
    <section class="panel">
      <p>
        <strong>Its URL is shown only now.</strong> Copy it into the tool that will call it: it can’t be shown
        again, and anyone who has it can send cards.
      </p>
      <Secret text={address} />
      <h2>Try it</h2>
      <p>This sends a card, and spends 1 credit.</p>
      {block(curlOf(address))}
      <p class="actions">
        <a class="button" href={next}>
          I have stored it: write its message
        </a>
      </p>
    </section>
  </>
);
