import { Form } from '../web/form.js';
import { Danger } from '../web/parts.js';
import type { Next } from './floor-data.js';
import { stepName } from './happenings.js';

/** One large button for the next step. The machine stays in the form. */
export const NextStep = ({ next, machine }: { readonly next: Next; readonly machine: string }) => {
  switch (next.kind) {
    case 'nothing':
      return <p class="note">Nothing is to be done with this card.</p>;
    case 'queue':
      return (
        <Form>
          <button type="submit" name="do" value="queue" class="huge">
            Take it to the floor
          </button>
        </Form>
      );
    case 'start':
    case 'done':
      return (
        <Form fields={{ step: next.step }}>
          <button type="submit" name="do" value={next.kind} class="huge">
            {next.kind === 'start' ? 'Start' : 'Done'}: {stepName(next.step)}
          </button>
          <p class="field">
            <label for="machine">Machine</label>
            <input id="machine" name="machine" value={machine} autocomplete="off" spellcheck={false} />
          </p>
          {next.kind === 'done' ? (
            <button type="submit" name="do" value="failed" class="second">
              It failed
            </button>
          ) : null}
        </Form>
      );
  }
};

interface ReasonProps {
  readonly action: 'hold' | 'fail';
  readonly label: string;
  readonly consequence: string;
}

/** Takes a card off the floor, with the reason. */
export const WithReason = ({ action, label, consequence }: ReasonProps) => (
  <Danger label={label}>
    <Form action={action}>
      <p>{consequence}</p>
      <p class="field">
        <label for={`reason-${action}`}>Reason</label>
        <input id={`reason-${action}`} name="reason" required autocomplete="off" />
      </p>
      <button type="submit">{label}</button>
    </Form>
  </Danger>
);
