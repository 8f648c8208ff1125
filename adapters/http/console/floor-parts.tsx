import { Form } from '../web/form.js';
import type { Next } from './floor-data.js';
import { stepName } from './happenings.js';

const wordsOf = (next: Next): { readonly action: string; readonly words: string } => {
  switch (next.kind) {
    case 'queue':
      return { action: 'queue', words: 'Take it to the floor' };
    case 'start':
      return { action: 'start', words: `Start: ${stepName(next.step)}` };
    case 'done':
      return { action: 'done', words: `Done: ${stepName(next.step)}` };
    case 'nothing':
      return { action: '', words: '' };
  }
};

/** One large button for the next step. The machine stays in the form. */
export const NextStep = ({ next, machine }: { readonly next: Next; readonly machine: string }) => {
  if (next.kind === 'nothing') return <p class="note">Nothing is to be done with this card.</p>;
  const { action, words } = wordsOf(next);
  const isStep = next.kind !== 'queue';
  return (
    <Form>
      {isStep ? <input type="hidden" name="step" value={next.step} /> : null}
      <button type="submit" name="do" value={action} class="huge">
        {words}
      </button>
      {isStep ? (
        <p class="field">
          <label for="machine">Machine</label>
          <input id="machine" name="machine" value={machine} autocomplete="off" spellcheck={false} />
        </p>
      ) : null}
      {next.kind === 'done' ? (
        <button type="submit" name="do" value="failed" class="second">
          It failed
        </button>
      ) : null}
    </Form>
  );
};

interface ReasonProps {
  readonly action: 'hold' | 'fail';
  readonly label: string;
  readonly consequence: string;
}

/** Takes a card off the floor, with the reason. */
export const WithReason = ({ action, label, consequence }: ReasonProps) => (
  <details class="danger">
    <summary>{label}</summary>
    <Form action={action}>
      <p>{consequence}</p>
      <p class="field">
        <label for={`reason-${action}`}>Reason</label>
        <input id={`reason-${action}`} name="reason" required autocomplete="off" />
      </p>
      <button type="submit">{label}</button>
    </Form>
  </details>
);
